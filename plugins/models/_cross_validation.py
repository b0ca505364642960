"""Chooses λ by cross-validation on the exact rows, as Dandekar et al. do (2018, section 5.2). The choice is a recorded leak."""

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
from dpbench.privacy.queries.quadratic import Quadratic

PenaltyForm = Literal["mean", "sum"]
"""What λ is relative to: the mean loss, or the summed loss."""
PENALTIES: dict[PenaltyForm, np.ndarray] = {"mean": np.logspace(-6, 0, 13), "sum": np.logspace(-3, 3, 13)}
"""The values of λ that are compared."""
MAX_FOLDS = 5
MAX_PROXIMAL_STEPS = 500
"""Upper limit for the steps of one fit. An approximate fit suffices, because only the errors of different λ are compared."""
CHANGE_TOLERANCE = 1e-7
"""Proximal steps stop when no weight changes by more than this."""


def chosen_penalty(
    curator: Curator, penalty: Literal["cv"] | float, alpha: float, penalty_on: PenaltyForm = "mean"
) -> np.ndarray | float:
    """Return λ itself if it is a number, otherwise the λ of each run by cross-validation on the run's own training rows.

    The folds depend on the number of rows only and the fits on the run only, so results do not depend on how repeats are grouped
    into blocks. Cost: one pass over the training rows of each run, and 65 small fits (with 12 coefficients 2 ms in total if
    ``alpha`` is 1, otherwise 8 ms).
    """
    if penalty != "cv":
        return penalty
    why = "λ is chosen by cross-validation of the non-private fit on each run's training rows"
    return curator.leak("penalty_by_cv", why, lambda sample: by_cross_validation(sample, alpha, penalty_on))


def by_cross_validation(sample: Sample, alpha: float, penalty_on: PenaltyForm) -> np.ndarray:
    """Return the λ with the smallest cross-validated error for each run: (runs,)."""
    values = PENALTIES[penalty_on]
    return np.array([values[np.argmin(_errors(sample.rows(run), alpha, penalty_on))] for run in range(sample.runs)])


def _errors(rows: Rows, alpha: float, penalty_on: PenaltyForm) -> np.ndarray:
    """Return the squared error of each λ, summed over all folds."""
    folds = min(MAX_FOLDS, rows.n)
    if folds < 2:
        return -PENALTIES[penalty_on]  # there is nothing to compare: make the largest λ win
    order, starts = _shuffled(rows.n, folds)
    z = rows.z[order]
    parts = np.stack([gram(z[start:stop]) for start, stop in pairwise(starts)])
    train, test = Moments(parts.sum(axis=0) - parts, rows.geometry), Moments(parts, rows.geometry)
    # both forms penalise the summed loss of a fold's training rows
    scale = train.n if penalty_on == "mean" else np.ones_like(train.n)
    weights = _fits(train, rows.geometry, alpha, PENALTIES[penalty_on][:, None] * scale)
    quadratic = np.einsum("lfi,fij,lfj->lf", weights, test.xx, weights)
    return np.asarray((test.yy - 2 * np.einsum("lfi,fi->lf", weights, test.xy) + quadratic).sum(axis=1))


def _fits(train: Moments, geometry: Geometry, alpha: float, weight: np.ndarray) -> np.ndarray:
    """Return the weights for every λ and fold (penalties, folds, D), from the weight of the penalty (penalties, folds)."""
    penalised = np.ones(geometry.dimension)
    penalised[: int(geometry.intercept)] = 0.0
    size = (len(weight), *train.xy.shape)
    matrix = np.broadcast_to(train.xx, (*size, size[-1]))
    smooth = Quadratic(matrix, np.broadcast_to(-2 * train.xy, size)).ridged(alpha * weight, penalised)
    return smooth.minimiser() if alpha == 1 else _proximal(smooth, (1 - alpha) * weight, geometry.intercept)


def _proximal(quadratic: Quadratic, absolute: np.ndarray, intercept: bool) -> np.ndarray:
    """Minimise w'Mw + c'w + absolute · ‖w‖₁, with the intercept not penalised, by accelerated proximal steps with restarts."""
    matrix, linear = quadratic.matrix, quadratic.linear
    if intercept:
        # eliminate the intercept's weight: given the others, its minimiser is -(c₀/2 + m'w)/M₀₀
        corner, across, slope = matrix[..., :1, :1], matrix[..., :1, 1:], linear[..., :1]
        matrix = matrix[..., 1:, 1:] - np.swapaxes(across, -1, -2) @ across / corner
        linear = linear[..., 1:] - (slope / corner[..., 0]) * across[..., 0, :]
    curvature = 2 * np.linalg.eigvalsh(matrix).max(axis=-1, initial=0.0)[..., None]
    step_size = 1 / np.where(curvature > 0, curvature, 1.0)
    w = ahead = np.zeros_like(linear)
    momentum = np.ones_like(step_size)
    for _ in range(MAX_PROXIMAL_STEPS):
        stepped = ahead - step_size * (2 * (matrix @ ahead[..., None])[..., 0] + linear)
        new = np.sign(stepped) * np.maximum(np.abs(stepped) - step_size * absolute[..., None], 0)
        change = new - w
        # restart the momentum where it points uphill (the gradient test of O'Donoghue and Candès 2015)
        uphill = ((ahead - new) * change).sum(axis=-1, keepdims=True) > 0
        next_momentum = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / next_momentum) * change
        w, momentum = new, next_momentum
        if np.abs(change).max(initial=0.0) <= CHANGE_TOLERANCE:
            break
    if not intercept:
        return w
    return np.concatenate([-(slope / 2 + (across @ w[..., None])[..., 0]) / corner[..., 0], w], axis=-1)


@lru_cache(maxsize=8)
def _shuffled(rows: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random order of the rows, and the position in it at which each fold starts (and the last one ends)."""
    return stream("cross-validation", rows).permutation(rows), np.linspace(0, rows, folds + 1).astype(int)
