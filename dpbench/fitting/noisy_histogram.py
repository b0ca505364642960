"""From noisy bins to weights: the weighted fit that histogram mechanisms share.

All of it is post-processing of a private answer, so none of it costs budget. A bin stands for rows at its centre, as many as its
noisy count. Counts are first rescaled so that they add up to n: counts that are clipped at 0 exceed it many times, and a
model's penalty is fixed relative to the mean loss.
"""

from collections.abc import Iterable

import numpy as np

from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.model import Problem
from dpbench.data.bins import BinCounts, Binning
from dpbench.data.moments import Moments
from dpbench.privacy.queries.quadratic import Quadratic

BINNED = "rows are moved to the centres of bins, by an amount that no interval covers"


def moments_suffice(problem: Problem) -> bool:
    """Return whether the loss is a quadratic, so that the second moments of the bins determine the fit."""
    return problem.loss is not None and problem.loss.exact


def fit_bins(problem: Problem, binning: Binning, bins: Iterable[BinCounts]) -> Fit:
    """Fit each run's bins, whose weights are not negative. One run at a time is in memory."""
    if moments_suffice(problem):
        return fit_moments(problem, np.stack([_gram(binning, summary) for summary in bins]))
    weights, empty = [], []
    for run, summary in enumerate(bins):
        total = summary.counts.sum()
        empty.append(not total > 0)
        if empty[-1]:
            weights.append(np.zeros(problem.geometry.dimension))
        else:
            scaled = BinCounts(summary.index, summary.counts * (problem.n[run] / total))
            weights.append(problem.for_run(run).weighted_bins(binning, scaled))
    return _fit(np.stack(weights), np.array(empty), ~np.array(empty))


def fit_moments(problem: Problem, gram: np.ndarray) -> Fit:
    """Fit bins with these sums of weight · zz', z = (1, features, target): (runs, d + 2, d + 2)."""
    total = gram[:, 0, 0]
    empty = ~(total > 0)
    scale = np.where(empty, 0.0, problem.n / np.where(empty, 1.0, total))
    objective = problem.regularised(_objective(problem, gram * scale[:, None, None]))
    return _fit(problem.minimise(objective), empty, objective.positive_definite)


def fit_unbiased(problem: Problem, gram: np.ndarray, floor: np.ndarray) -> Fit:
    """Fit bins with counts of either sign, not rescaled; eigenvalues below the floor (runs,) are raised to it."""
    objective = problem.regularised(_objective(problem, gram))
    changed = objective.spectrum[0][..., 0] < floor
    return _fit(problem.minimise(objective.floored(floor)), changed, objective.positive_definite)


def _gram(binning: Binning, bins: BinCounts) -> np.ndarray:
    if binning.grid_for(len(bins.index)):
        return binning.grid.at(bins.index[:, 0]).gram(bins.counts)
    z = binning.centres(bins.index).z
    return np.asarray((z.T * bins.counts) @ z)


def _objective(problem: Problem, gram: np.ndarray) -> Quadratic:
    loss, moments = problem.loss, Moments(gram, problem.geometry)
    assert loss is not None
    return Quadratic(loss.curvature * moments.xx, loss.slope[0] * moments.x + loss.slope[1] * moments.xy)


def _fit(weights: np.ndarray, repaired: np.ndarray, definite: np.ndarray) -> Fit:
    fit = Fit(weights, np.where(repaired, REPAIRED, OK), {"not_positive_definite": ~definite})
    return fit.knowing(BINNED)
