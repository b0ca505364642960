"""λ by cross-validation on the exact rows, as Dandekar et al. choose it (2018, section 5.2): a leak, and recorded as one."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np

from dpbench.base.random_streams import stream
from dpbench.data.geometry import Geometry
from dpbench.data.moments import Moments, gram
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator
from dpbench.privacy.quadratic import Quadratic

GRID = np.logspace(-6, 0, 13)
FOLDS = 5
STEPS = 500
"""Steps of the proximal gradient at most: errors of different λ are compared, the fit itself is not made here."""


def chosen_penalty(curator: Curator, penalty: Literal["cv"] | float, alpha: float) -> np.ndarray | float:
    """λ as given, or for each run the one of least squared error over 5 folds of its own training rows.

    Folds depend on the number of rows alone and the fits on the run alone: how repeats are cut into blocks changes nothing.
    Cost: one pass over each run's training rows, and 65 small fits (2 ms with ``alpha`` = 1, else 8 ms, for 12 coefficients).
    """
    if penalty != "cv":
        return penalty
    why = "λ is chosen by cross-validation of the non-private fit on each run's training rows"
    return curator.leak("penalty_by_cv", why, lambda sample: by_cross_validation(sample, alpha))


def by_cross_validation(sample: Sample, alpha: float) -> np.ndarray:
    """The λ of least cross-validated error for each run: (runs,)."""
    return np.array([GRID[np.argmin(_errors(sample.rows(run), alpha))] for run in range(sample.runs)])


def _errors(rows: Rows, alpha: float) -> np.ndarray:
    """The squared error over all folds for each λ of the grid."""
    folds = min(FOLDS, rows.n)
    if folds < 2:
        return -GRID  # nothing to compare: the largest
    order, starts = _shuffled(rows.n, folds)
    z = rows.z[order]
    parts = np.stack([gram(z[start:stop]) for start, stop in pairwise(starts)])
    train, test = Moments(parts.sum(axis=0) - parts, rows.geometry), Moments(parts, rows.geometry)
    weights = _fits(train, rows.geometry, alpha)
    quadratic = np.einsum("lfi,fij,lfj->lf", weights, test.xx, weights)
    return np.asarray((test.yy - 2 * np.einsum("lfi,fi->lf", weights, test.xy) + quadratic).sum(axis=1))


def _fits(train: Moments, geometry: Geometry, alpha: float) -> np.ndarray:
    """The weights for every λ and fold: (grid, folds, D)."""
    penalised = np.ones(geometry.dimension)
    penalised[: int(geometry.intercept)] = 0.0
    size = (len(GRID), *train.xy.shape)
    matrix = np.broadcast_to(train.xx, (*size, size[-1]))
    weight = GRID[:, None] * train.n
    smooth = Quadratic(matrix, np.broadcast_to(-2 * train.xy, size)).ridged(alpha * weight, penalised)
    return smooth.minimiser() if alpha == 1 else _proximal(smooth, (1 - alpha) * weight, geometry.intercept)


def _proximal(quadratic: Quadratic, absolute: np.ndarray, intercept: bool) -> np.ndarray:
    """Minimises w'Mw + c'w + absolute · ‖w‖₁, the intercept's weight free, by accelerated proximal steps that restart."""
    matrix, linear = quadratic.matrix, quadratic.linear
    if intercept:  # it is what the others leave: put its minimiser in, -(c₀/2 + m'w)/M₀₀
        own, across, slope = matrix[..., :1, :1], matrix[..., :1, 1:], linear[..., :1]
        matrix = matrix[..., 1:, 1:] - np.swapaxes(across, -1, -2) @ across / own
        linear = linear[..., 1:] - (slope / own[..., 0]) * across[..., 0, :]
    curvature = 2 * np.linalg.eigvalsh(matrix).max(axis=-1, initial=0.0)[..., None]
    pace = 1 / np.where(curvature > 0, curvature, 1.0)
    w = ahead = np.zeros_like(linear)
    momentum = np.ones_like(pace)
    for _ in range(STEPS):
        moved = ahead - pace * (2 * (matrix @ ahead[..., None])[..., 0] + linear)
        new = np.sign(moved) * np.maximum(np.abs(moved) - pace * absolute[..., None], 0)
        change = new - w
        uphill = ((ahead - new) * change).sum(axis=-1, keepdims=True) > 0
        following = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / following) * change
        w, momentum = new, following
        if np.abs(change).max(initial=0.0) <= 1e-7:
            break
    if not intercept:
        return w
    return np.concatenate([-(slope / 2 + (across @ w[..., None])[..., 0]) / own[..., 0], w], axis=-1)


@lru_cache(maxsize=8)
def _shuffled(rows: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """An order of the rows, and where each fold starts and ends in it."""
    return stream("cross-validation", rows).permutation(rows), np.linspace(0, rows, folds + 1).astype(int)
