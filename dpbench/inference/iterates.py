"""Intervals from the steps of a descent: noisy gradients at known weights tell where the gradient is zero.

Near its minimum a loss has the gradient Aw - b, and for squared errors everywhere. Each step released a gradient, with noise of a
known size, at weights that are released too. So A and b are the unknowns of a linear regression, and the fit is A⁻¹b. The least
squares estimate of a symmetric A has a closed form, and its errors are independent in the basis of the principal axes of the
weights. Where these hardly moved, A is unknown, and a weak prior stands in for it: a multiple of the identity, whose size the
steps tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.model import Problem
from dpbench.contracts.uncertainty import IntervalRequest, Intervals, Method, Uncertainty
from dpbench.inference.noisy_regression import LARGEST_VARIANCE
from dpbench.inference.released_moments import PENALISED, RANGE_ONLY
from dpbench.privacy.queries.quadratic import Quadratic

Array = np.ndarray

SPREAD = 0.12
"""The standard deviation of an entry of A under the prior: this times the largest mean eigenvalue of A, over √D."""
FLOOR = 0.01
"""The floor of A's eigenvalues, in units of the largest mean eigenvalue."""
MEAN_CURVATURE = (0.02, 1 / 3, 1.0)
"""The prior's diagonal in the same units: at least, if the steps tell nothing (columns uniform over their bounds), at most."""
COUNTED_SHARE = 3
"""Of a loss whose curvature changes, only the last third of the steps counts."""
NOT_SMOOTH = "its loss has no second derivative, so gradients at a few weights do not tell its minimum"
CLIPPED = (
    "Clipping gradients moves the minimum that the steps aim at, which no interval covers: where many are clipped, more rows and "
    "a larger ε lower the coverage."
)
UNCLIPPED = "With mechanism.clip=1 no gradient is clipped."
CURVED = (
    "The curvature of the loss is taken for the same at the last third of the steps: the stronger the effects, the lower is the "
    "coverage."
)
PRIOR = "They are wide where the steps tell little of the curvature."


def iterates(problem: Problem, weights: Array, gradients: Array, noise: Array, clipped: bool = True) -> Uncertainty | str:
    """Return what noisy gradients of the summed loss tell, (runs, T, D), with noise of these standard deviations: (runs, T)."""
    if reason := no_minimum(problem):
        return reason
    assert problem.loss is not None
    size, mean = problem.geometry.dimension, largest_mean(problem)
    last = slice(None) if problem.loss.exact else last_third(weights.shape[1])
    gradients_vary = problem.largest_curvature * LARGEST_VARIANCE if problem.loss.exact else 1.0
    parts = weights[:, last], gradients[:, last], noise[:, last]
    return Iterates(*parts, mean, SPREAD * mean / math.sqrt(size), gradients_vary, problem.loss.exact, clipped)


def last_third(steps: int) -> slice:
    """Return the steps that count for a loss whose curvature changes."""
    return slice(-math.ceil(steps / COUNTED_SHARE), None)


def largest_mean(problem: Problem) -> Array:
    """Return the largest mean that the eigenvalues of the summed loss's curvature can have: (runs,)."""
    return np.asarray(problem.n * problem.largest_curvature * problem.geometry.squared_norm / problem.geometry.dimension)


def no_minimum(problem: Problem) -> str:
    """Return why gradients do not tell the fit of a problem, or an empty string if they do."""
    runs, size = len(problem.n), problem.geometry.dimension
    nothing = Quadratic(np.zeros((runs, size, size)), np.zeros((runs, size)))
    if not problem.closed_form or problem.regularised(nothing).matrix.any():
        return PENALISED
    return NOT_SMOOTH if problem.loss is None else ""


@dataclass(frozen=True)
class Iterates(Uncertainty):
    """Weights, the noisy gradient at each of them, and the standard deviation of its noise."""

    methods: ClassVar[tuple[Method, ...]] = ("iterates",)
    takes_long: ClassVar[bool] = True

    weights: Array
    """(runs, T, D)"""
    gradients: Array
    """(runs, T, D)"""
    noise: Array
    """(runs, T)"""
    largest_mean: Array
    """The largest possible mean of A's eigenvalues: (runs,)."""
    spread: Array
    """The standard deviation of A's entries off the diagonal under the prior, √2 times that on it: (runs,)."""
    dispersion: float = 1.0
    """The covariance of the summed gradient of rows from the population, in units of A; for squared errors the largest one."""
    exact: bool = False
    """Whether the loss is a squared error: A is the same everywhere, and the variance of the residuals is not known."""
    clipped: bool = True
    """Whether rows' gradients can be longer than the length to which they are clipped."""
    curvature: Array | None = None
    """A as it was released, the mean of the prior: (runs, D, D). None: a multiple of the identity."""
    coordinates: Array | None = None
    """The model's weights are this matrix times those of the steps: (runs, D, D). None: they are the same."""

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        """Return percentiles of the minima that the released gradients leave possible.

        The minimum is far from linear in A, and the delta method covers .7 to .85 in ill-conditioned designs.
        """
        if request.method not in self.methods:
            return f"its release allows the methods {', '.join(self.methods)}"
        runs, _, size = self.weights.shape
        low, centre, high = np.empty((3, runs, size))
        covariance, floored = np.empty((runs, size, size)), np.empty(runs, dtype=bool)
        tail = (1 - request.level) / 2
        for run in range(runs):
            minima, raised = self._minima(run, request)
            low[run], centre[run], high[run] = np.quantile(minima, [tail, 0.5, 1 - tail], axis=0, method="weibull")
            covariance[run] = np.cov(minima, rowvar=False).reshape(size, size)
            floored[run] = raised.mean() > 0.5
        errors = np.sqrt(np.einsum("rii->ri", covariance))
        remarks = tuple(self._remarks(request))
        return Intervals("iterates", centre, errors, low, high, covariance, floored=floored, remarks=remarks)

    def _minima(self, run: int, request: IntervalRequest) -> tuple[Array, Array]:
        """Return drawn minima of one run, and whether the floor was active: (draws, D), (draws,)."""
        generator, draws, size = request.stream(run), request.draws, self.weights.shape[2]
        precision = 1 / np.square(self.noise[run])
        middle, gradient = (precision @ array[run] / precision.sum() for array in (self.weights, self.gradients))
        basis, matrix, deviation = self._curvature(run, precision, self.weights[run] - middle, self.gradients[run] - gradient)
        j, k = np.triu_indices(size)
        drawn = np.tile(matrix, (draws, 1, 1))
        drawn[:, j, k] += generator.standard_normal((draws, len(j))) * deviation[j, k]
        drawn[:, k, j] = drawn[:, j, k]
        # the mean gradient is independent of how gradients vary around it, hence of A
        vector = generator.standard_normal((draws, size)) / np.sqrt(precision.sum()) - gradient @ basis
        values, vectors = np.linalg.eigh(drawn)
        floor = FLOOR * self.largest_mean[run]
        raised = np.maximum(values, floor)
        along = (np.swapaxes(vectors, 1, 2) @ vector[:, :, None])[:, :, 0]
        if request.covers == "population":
            along = along + np.sqrt(self.dispersion * raised) * generator.standard_normal((draws, size))
        minima = middle + (vectors @ (along / raised)[:, :, None])[:, :, 0] @ basis.T
        return minima if self.coordinates is None else minima @ self.coordinates[run].T, values[:, 0] < floor

    def _curvature(self, run: int, precision: Array, weights: Array, gradients: Array) -> tuple[Array, Array, Array]:
        """Return a basis, and in that basis A and the standard deviations of its independent entries.

        With the centred weights W and gradients G of the steps and the precisions P of their noise, S = W'PW: in the eigenvectors
        of S the entries of A have the precision s_i + s_j + 2λ off the diagonal and half of that on it, where λ = 1/(2 spread²).
        """
        size, unit = weights.shape[1], self.largest_mean[run]
        values, basis = np.linalg.eigh((weights.T * precision) @ weights)
        moments = np.maximum(values, 0.0)
        rounding = np.finfo(float).eps * len(weights) * max(float(moments[-1]), np.finfo(float).tiny)
        prior = max(float(1 / (2 * np.square(self.spread[run]))), rounding)
        along = basis.T @ (gradients.T * precision) @ weights @ basis
        if self.curvature is None:
            least, usual, most = np.multiply(MEAN_CURVATURE, unit)
            mean = (np.trace(along) + prior * size * usual) / (moments.sum() + prior * size)
            before = np.clip(mean, least, most) * np.eye(size)
        else:
            before = basis.T @ self.curvature[run] @ basis
        sums = moments[:, None] + moments + 2 * prior
        return basis, (along + along.T + 2 * prior * before) / sums, np.sqrt((1 + np.eye(size)) / sums)

    def _remarks(self, request: IntervalRequest) -> list[str]:
        unknown = [RANGE_ONLY] if self.exact and request.covers == "population" else []
        if self.exact:
            return [*unknown, CLIPPED, PRIOR]
        return [*([CLIPPED, UNCLIPPED] if self.clipped else []), CURVED, PRIOR]
