"""Logistic regression by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpbench.contracts.fit import DIVERGED, OK, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.bins import BinCounts, Binning
from dpbench.data.geometry import TargetKind
from dpbench.data.samples import Sample
from dpbench.fitting.information import inverse_roots
from dpbench.privacy.curator import Curator
from dpbench.privacy.queries.polynomial import Loss

from ..metrics.classification import log_loss
from ._cached_fit import cached_fit
from ._maxima import Maxima, maxima_of
from ._newton import most_likely, most_likely_in_bins, most_likely_on_grid

MAX_BINS_PER_FILLED_ONE = 3
"""Where more bins are empty, a pass over those that are not is faster than one over all bins."""


class Likelihood(Problem):
    """The summed log loss log(1 + exp(x'w)) - y x'w with y in {0, 1}. Its scores need the test rows, not only their moments."""

    # Zhang et al. 2012, section 5.1: log 2 + (½ - y) x'w + (x'w)²/8
    loss = Loss(curvature=1 / 8, slope=(0.5, -1.0), printed_slope=1.5, printed_constant=0.0, exact=False)
    largest_slope = 1.0
    largest_curvature = 0.25

    def exact(self, sample: Sample) -> Fit:
        maxima = self._maxima(sample)
        return Fit(maxima.weights, np.where(maxima.converged, OK, DIVERGED))

    @cached_fit
    def _maxima(self, sample: Sample) -> Maxima:
        return maxima_of(sample)

    def standard_errors(self, sample: Sample, weights: np.ndarray) -> np.ndarray:
        """Return those of maximum likelihood, from the Fisher information at these weights."""
        maxima = self._maxima(sample)
        if not np.array_equal(weights, maxima.weights):
            maxima = replace(maxima, weights=weights, information=[None] * sample.runs)
        return inverse_roots(maxima.all_information(sample))

    def predict(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return P[y = 1] of each row."""
        return probability(x @ weights)

    def gradient(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return d loss / d x'w of each row."""
        return np.asarray(probability(x @ weights) - y)

    def curvature(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return d² loss / d (x'w)² of each row."""
        decay = np.exp(-np.abs(x @ weights))
        return np.asarray(decay / np.square(1 + decay))

    def weighted(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the fit to rows with weights of at least 0; y may be any number from 0 to 1."""
        if (weight < 0).any():
            raise ValueError("Logistic regression cannot be fitted to rows of negative weight: the objective is not convex.")
        positive = weight > 0
        return most_likely(x[positive], y[positive], weight[positive])[0]

    def weighted_bins(self, binning: Binning, bins: BinCounts) -> np.ndarray:
        number = len(bins.index)
        if not binning.grid_for(number):
            return super().weighted_bins(binning, bins)
        # a bin of the grid costs a fraction of a row, because nothing is formed for it that has the length of a row
        if number * MAX_BINS_PER_FILLED_ONE < binning.size:
            positions, ones = np.divmod(bins.index[:, 0], 2)
            return most_likely_in_bins([(binning.design_grid.at(positions), bins.counts, bins.counts * ones)])[0]
        return most_likely_on_grid(binning.design_grid, binning.all_bins(bins).reshape(-1, 2))[0]

    def log_likelihood(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray, variance: float) -> np.ndarray:
        """Return the log probability of each row's class. ``variance`` has no meaning here."""
        return -log_loss(y, x @ weights)


@dataclass(frozen=True)
class Logistic(Model):
    """Logistic regression: predict which of two classes a row belongs to.

    It minimises the sum of log(1 + exp(x'w)) - y x'w, with y = 1 if the target exceeds the table's threshold. Predictions are
    P[y = 1]. Metrics: error_rate (class 1 is predicted if P >= ½), log_loss, and auc, in which ties count half (missing if the
    test rows are all of one class), with the curve behind it, roc.

    The exact fit is Newton's method. The training rows of the folds of a repeat overlap, so their runs start from the maximum of
    the whole table and take their steps together; a run for which this does not converge, and a run that shares its table with no
    other, starts from w = 0, with step halving. The maximum depends on the run's training rows only, its last bits on the table
    of its repeat as well, and never on other repeats. If the classes
    can be separated, for example because all rows of one level are of one class, no minimum exists. The method then stops, with
    finite weights, once a step gains less than 1e-6 in log-likelihood without the gains dying out, and the run is ``diverged``.
    Weights do not move in directions in which no row has a value.

    Mechanisms on polynomials use the loss up to order 2 around w = 0 (Zhang et al. 2012, section 5.1). The paper bounds the
    truncation error by 0.015; it is 0.030, and only while |x'w| <= 1, which nothing enforces.

    Reference: Cox 1958, "The regression analysis of binary sequences", J. R. Stat. Soc. B 20(2); Zhang et al. 2012,
    "Functional mechanism: regression analysis under differential privacy", PVLDB 5(11).

    Cost: about 2 passes over the table per repeat, or 6 over the training rows of a run that is fitted alone, and one pass over
    the test rows per score. 250 runs of 5 folds take 2 s on 370,000 rows of 10 features, with their standard errors; a score
    takes 1 s.
    """

    name: ClassVar[str] = "logistic"
    target: ClassVar[TargetKind] = "binary"
    primary: ClassVar[str] = "error_rate"
    provides: ClassVar[frozenset[Capability]] = frozenset(
        {"polynomial", "truncation", "gradient", "smoothness", "weighted", "likelihood"}
    )

    def prepare(self, curator: Curator) -> Problem:
        return Likelihood(curator.geometry, curator.n)


def probability(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-t)) without overflow."""
    decay = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0, 1.0, decay) / (1 + decay))


@hookimpl
def dpbench_models() -> list[type[Model]]:
    return [Logistic]
