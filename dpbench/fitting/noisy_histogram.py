"""From noisy cells to weights: the weighted fit that histogram mechanisms share.

All of it is post-processing of a private answer, so none of it costs budget. A cell stands for as many rows at its centre as
its noisy count says. Counts are first rescaled to n in total: noise that is never negative makes them exceed it many times,
and a penalty is fixed beside the mean loss.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.model import Problem
from dpbench.data.moments import Moments
from dpbench.data.scaling import Rows
from dpbench.privacy.polynomial import Loss
from dpbench.privacy.quadratic import Quadratic


def moments_suffice(problem: Problem) -> bool:
    """Whether the loss is a quadratic, so that the cells' second moments hold all that a fit needs."""
    return problem.loss is not None and problem.loss.exact


def fit_cells(problem: Problem, cells: Iterable[tuple[Rows, np.ndarray]]) -> Fit:
    """The fit of each run's cells: their centres, and weights that are not negative. One run at a time is in memory."""
    if moments_suffice(problem):
        return fit_moments(problem, np.stack([(rows.z.T * weight) @ rows.z for rows, weight in cells]))
    weights, empty = [], []
    for run, (rows, weight) in enumerate(cells):
        total = weight.sum()
        empty.append(not total > 0)
        if empty[-1]:
            weights.append(np.zeros(problem.geometry.dimension))
        else:
            weights.append(problem.for_run(run).weighted(rows.x, rows.y, weight * (problem.n[run] / total)))
    return _fit(np.stack(weights), np.array(empty), ~np.array(empty))


def fit_moments(problem: Problem, gram: np.ndarray) -> Fit:
    """The fit of cells with these sums of weight · zz', z = (1, features, target): (runs, d + 2, d + 2)."""
    total = gram[:, 0, 0]
    empty = ~(total > 0)
    scale = np.where(empty, 0.0, problem.n / np.where(empty, 1.0, total))
    objective = problem.regularised(_objective(problem, gram * scale[:, None, None]))
    return _fit(problem.minimise(objective), empty, objective.positive_definite)


def fit_unbiased(problem: Problem, gram: np.ndarray, floor: np.ndarray) -> Fit:
    """The same for counts of either sign, as they are; eigenvalues below the floor (runs,) are raised to it."""
    objective = problem.regularised(_objective(problem, gram))
    changed = objective.spectrum[0][..., 0] < floor
    return _fit(problem.minimise(objective.floored(floor)), changed, objective.positive_definite)


def _objective(problem: Problem, gram: np.ndarray) -> Quadratic:
    loss, moments = problem.loss, Moments(gram, problem.geometry)
    assert isinstance(loss, Loss)
    return Quadratic(loss.curvature * moments.xx, loss.slope[0] * moments.x + loss.slope[1] * moments.xy)


def _fit(weights: np.ndarray, repaired: np.ndarray, definite: np.ndarray) -> Fit:
    return Fit(weights, np.where(repaired, REPAIRED, OK), {"not_positive_definite": ~definite})
