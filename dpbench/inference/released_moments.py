"""Intervals from noisy second moments: the delta method, the parametric bootstrap, and the textbook formula that fails.

X'X, X't and t't were released together with noise of known laws. An interval belongs to the least squares estimate that they
imply, with an own floor for the eigenvalues of X'X. docs/inference.md explains the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpbench.contracts.model import Problem
from dpbench.contracts.uncertainty import IntervalRequest, Intervals, Method, Uncertainty
from dpbench.inference.bootstrap import bootstrapped
from dpbench.inference.noisy_regression import NoisyRegression
from dpbench.inference.quantiles import two_sided
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.privacy.queries.quadratic import Quadratic

Array = np.ndarray

NO_LAW = "its noise has no law that intervals could be made of"
PENALISED = "a penalty draws the weights towards 0, by an amount that no interval covers; model=linear has intervals"
NAIVE_TABLE = "the textbook formula counts sampling alone, and inference.covers=table the noise of privacy alone"
RANGE_ONLY = (
    "Conservative: the release tells nothing about the variance of the residuals, so the largest that the target's range allows "
    "is taken."
)
APPROXIMATION = (
    "its release is of a quadratic approximation of the loss, whose minimum lies nearer to 0 than the coefficients of logistic "
    "regression, by an amount that no interval covers"
)


def released_moments(
    problem: Problem,
    moments: NoisyMoments | None,
    objective: Quadratic | None = None,
    around: Array | None = None,
    remarks: tuple[str, ...] = (),
) -> Uncertainty | str:
    """Return what noisy second moments tell about the coefficients of a problem, or why they tell nothing.

    ``objective``: the noisy objective that the fit has decomposed already, so that intervals need not do it again. ``around``:
    the weights w, if X't is X'Xw plus a released sum of x(t - x'w). ``remarks``: what else limits the intervals.
    """
    assert problem.loss is not None  # the capability "polynomial"
    runs, size = len(problem.n), problem.geometry.dimension
    nothing = Quadratic(np.zeros((runs, size, size)), np.zeros((runs, size)))
    if not problem.closed_form or problem.regularised(nothing).matrix.any():
        return PENALISED
    if not problem.loss.exact:
        return APPROXIMATION
    per_target = problem.loss.per_target(problem.geometry)
    if moments is None or per_target is None:
        return NO_LAW
    return ReleasedMoments(moments, -per_target / (2 * problem.loss.curvature), objective, around, remarks)


@dataclass(frozen=True)
class ReleasedMoments(Uncertainty):
    """Noisy X'X, X't and t't, and the laws of their noise."""

    methods: ClassVar[tuple[Method, ...]] = ("delta", "bootstrap", "naive")

    moments: NoisyMoments
    factor: float = 1.0
    """The model's weights are this many times the regression of t on x."""
    objective: Quadratic | None = None
    """The noisy objective of the fit, whose spectrum is also that of X'X if both are the same matrix."""
    around: Array | None = None
    """X't was made from sums of x(t - x'w) and the noisy X'X, at these weights w: (runs, D). None: it was released."""
    remarks: tuple[str, ...] = ()

    @cached_property
    def regression(self) -> NoisyRegression:
        return NoisyRegression.of(self.moments, self.objective, self.around)

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        make: dict[str, Callable[[IntervalRequest], Intervals]] = {
            "delta": self._delta,
            "bootstrap": self._bootstrap,
            "naive": self._naive,
        }
        if request.method not in make:
            return f"its release allows the methods {', '.join(self.methods)}"
        if request.method == "naive" and request.covers == "table":
            return NAIVE_TABLE
        return make[request.method](request)

    def _delta(self, request: IntervalRequest) -> Intervals:
        """Return the delta method's intervals: the estimate is linear in the noise, as long as the noise is small."""
        fit = self.regression
        variance = fit.residual_variance(request.n)
        covariance = self._delta_covariance(request, variance)
        errors = np.sqrt(np.einsum("rii->ri", covariance))
        return self._scaled(request, errors, *self._delta_ends(request, errors), covariance, variance)

    def _delta_covariance(self, request: IntervalRequest, variance: Array) -> Array:
        fit = self.regression
        covariance = fit.privacy_covariance + fit.floor_bias
        if request.covers == "population":
            covariance = covariance + variance[:, None, None] * fit.inverse
        return np.asarray(covariance)

    def _delta_ends(self, request: IntervalRequest, errors: Array) -> tuple[Array, Array]:
        fit = self.regression
        kurtosis = fit.fourth_cumulant / np.maximum(errors, np.finfo(float).tiny) ** 4
        reach = errors * two_sided(request.level, request.n - fit.size, kurtosis)
        return fit.estimate - reach, fit.estimate + reach

    def _naive(self, request: IntervalRequest) -> Intervals:
        """Return the textbook formula on noisy sums, which takes them for exact ones: it covers far less than it says."""
        fit = self.regression
        variance = fit.residual_variance(request.n, corrected=False)
        covariance = variance[:, None, None] * fit.inverse
        errors = np.sqrt(np.einsum("rii->ri", covariance))
        reach = errors * two_sided(request.level, request.n - fit.size, np.zeros_like(errors))
        return self._scaled(request, errors, fit.estimate - reach, fit.estimate + reach, covariance, variance)

    def _bootstrap(self, request: IntervalRequest) -> Intervals:
        """Return percentiles of what the mechanism would release of tables like the estimated one.

        Where the floor is active, the estimated table is one whose coefficients the floor has shrunk, and percentiles miss what
        that hides: they covered .76 of a coefficient. There an interval also holds the delta method's.
        """
        fit = self.regression
        variance = fit.residual_variance(request.n)
        sampled = variance if request.covers == "population" else np.zeros_like(variance)
        low, high, covariance = bootstrapped(fit, sampled, request)
        if fit.floored.any():
            delta_errors = np.sqrt(np.einsum("rii->ri", self._delta_covariance(request, variance)))
            wide, floored = self._delta_ends(request, delta_errors), fit.floored[:, None]
            low, high = np.where(floored, np.minimum(low, wide[0]), low), np.where(floored, np.maximum(high, wide[1]), high)
        errors = np.sqrt(np.einsum("rii->ri", covariance))
        return self._scaled(request, errors, low, high, covariance, variance)

    def _scaled(
        self,
        request: IntervalRequest,
        errors: Array,
        low: Array,
        high: Array,
        covariance: Array,
        variance: Array,
    ) -> Intervals:
        """Return intervals of the model's weights, made from those of the regression on the released columns."""
        fit = self.regression
        units = self.factor * fit.columns
        return Intervals(
            request.method,
            units * fit.estimate,
            units * errors,
            units * low,
            units * high,
            units[..., :, None] * units[..., None, :] * covariance,
            variance,
            fit.floored,
            ((RANGE_ONLY,) if self.moments.square is None else ()) + self.remarks,
            fit.residual_variance_error(request.n),
        )
