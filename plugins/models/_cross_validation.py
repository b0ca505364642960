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

from ._active_set import minimisers
from ._proximal import proximal

PenaltyForm = Literal["mean", "sum"]
"""What λ is relative to: the mean loss, or the summed loss."""
PENALTIES: dict[PenaltyForm, np.ndarray] = {"mean": np.logspace(-6, 0, 13), "sum": np.logspace(-3, 3, 13)}
"""The values of λ that are compared."""
MAX_FOLDS = 5
MAX_NUMBERS = 2**20
"""Numbers that the matrices of the runs that are fitted together may hold."""


def chosen_penalty(
    curator: Curator, penalty: Literal["cv"] | float, alpha: float, penalty_on: PenaltyForm = "mean", exact: bool = True
) -> np.ndarray | float:
    """Return λ itself if it is a number, otherwise the λ of each run by cross-validation on the run's own training rows.

    The folds depend on the number of rows only and the fits on the run only, so results do not depend on how repeats are grouped
    into blocks. ``exact`` says whether fits with an absolute penalty go to their minimum, or approximately. Cost: one pass over
    the training rows of each run, and 65 small fits (with 12 coefficients 1 ms in total, otherwise 8 ms).
    """
    if penalty != "cv":
        return penalty
    why = "λ is chosen by cross-validation of the non-private fit on each run's training rows"
    return curator.leak("penalty_by_cv", why, lambda sample: by_cross_validation(sample, alpha, penalty_on, exact))


def by_cross_validation(sample: Sample, alpha: float, penalty_on: PenaltyForm, exact: bool = True) -> np.ndarray:
    """Return the λ with the smallest cross-validated error for each run: (runs,)."""
    values, size = PENALTIES[penalty_on], sample.geometry.dimension
    # approximate fits stop together, so that those of several runs would not be those of each run alone
    runs_at_a_time = max(MAX_NUMBERS // (MAX_FOLDS * size**2), 1) if exact else 1
    chosen: list[float] = []
    for start in range(0, sample.runs, runs_at_a_time):
        runs = range(start, min(start + runs_at_a_time, sample.runs))
        parts = np.stack([_fold_sums(sample.rows(run)) for run in runs])
        chosen += [float(values[at]) for at in np.argmin(_errors(parts, sample.geometry, alpha, penalty_on, exact), axis=1)]
    return np.array(chosen)


def _fold_sums(rows: Rows) -> np.ndarray:
    """Return the sums of products of two columns over the rows of each fold. With fewer rows than folds, some folds are empty."""
    folds = min(MAX_FOLDS, rows.n)
    order, starts = _shuffled(rows.n, folds)
    z = rows.z[order]
    sums = np.zeros((MAX_FOLDS, z.shape[1], z.shape[1]))
    sums[:folds] = [gram(z[start:stop]) for start, stop in pairwise(starts)]
    return sums


def _errors(parts: np.ndarray, geometry: Geometry, alpha: float, penalty_on: PenaltyForm, exact: bool) -> np.ndarray:
    """Return the squared error of each λ, summed over all folds, from the sums of each run's folds: (runs, penalties)."""
    train, test = Moments(parts.sum(axis=1, keepdims=True) - parts, geometry), Moments(parts, geometry)
    # both forms penalise the summed loss of a fold's training rows
    scale = train.n if penalty_on == "mean" else np.ones_like(train.n)
    weights = _fits(train, geometry, alpha, PENALTIES[penalty_on][:, None, None] * scale, exact)
    quadratic = np.einsum("lrfi,rfij,lrfj->lrf", weights, test.xx, weights)
    errors = (test.yy - 2 * np.einsum("lrfi,rfi->lrf", weights, test.xy) + quadratic).sum(axis=2).T
    # with a single row there is nothing to compare: make the largest λ win
    single = (parts[:, :, 0, 0] > 0).sum(axis=1) < 2
    return np.asarray(np.where(single[:, None], -PENALTIES[penalty_on], errors))


def _fits(train: Moments, geometry: Geometry, alpha: float, weight: np.ndarray, exact: bool) -> np.ndarray:
    """Return the weights for every λ, run and fold (penalties, runs, folds, D), from the weights of the penalty."""
    penalised = np.ones(geometry.dimension)
    penalised[: int(geometry.intercept)] = 0.0
    linear = -2 * train.xy
    smooth = (Quadratic(train.xx, linear).ridged(alpha * each, penalised) for each in weight)
    if alpha == 1:
        return np.stack([quadratic.minimiser() for quadratic in smooth])
    if not exact:
        size = (len(weight), *train.xy.shape)
        together = Quadratic(np.broadcast_to(train.xx, (*size, size[-1])), np.broadcast_to(linear, size))
        return proximal(together.ridged(alpha * weight, penalised), (1 - alpha) * weight, geometry.intercept)
    fits, start = [], np.zeros((linear[..., 0].size, linear.shape[-1]))
    # the largest λ first: each fit is the start of the next one, which has a few more weights
    for quadratic, each in reversed(list(zip(smooth, weight, strict=True))):
        flat = quadratic.matrix.reshape(-1, *quadratic.matrix.shape[-2:]), linear.reshape(start.shape)
        start = minimisers(*flat, (1 - alpha) * each.ravel(), penalised > 0, start)
        fits.append(start.reshape(linear.shape))
    return np.stack(fits[::-1])


@lru_cache(maxsize=8)
def _shuffled(rows: int, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a random order of the rows, and the position in it at which each fold starts (and the last one ends)."""
    return stream("cross-validation", rows).permutation(rows), np.linspace(0, rows, folds + 1).astype(int)
