"""Intervals from the steps of a descent: noisy gradients at known weights tell where the gradient is zero.

Near its minimum a loss has the gradient Aw - b, and for squared errors everywhere. Each step released a gradient, with noise of a
known size, at weights that are released too. So A and b are the unknowns of a linear regression, and the fit is A⁻¹b. The least
squares estimate of a symmetric A has a closed form, and its errors are independent in the basis of the principal axes of the
weights. Where these hardly moved, A is unknown, and so is the fit along this direction: coefficients that need it have infinite
intervals.
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

IDENTIFIED, IDENTIFIED_PER_ROOT = 4.0, 2.5
"""The curvature along a direction counts as known from this many standard errors on, and from this many times √D.

Noise moves the weights, and the gradient of the next steps is regressed on where it moved them. So even where there is no
curvature, its estimate is 1.5 standard errors on average (Dickey and Fuller 1979), and up to 4 in the worst of four directions.
"""
INFLATION = 1.25
"""Standard errors of A are multiplied by this, for the same reason: without it, one coefficient was covered .89 of the time."""
LEAST_CURVATURE = 1.0
"""Draws of A have at least this eigenvalue, in standard errors."""
MOST_HIDDEN = 0.1
"""A coefficient has an interval if at most this share of its square lies in directions whose curvature is not known."""
COUNTED_SHARE = 3
"""If the curvature of the loss changes, only the last third of the steps counts."""
NOT_SMOOTH = "its loss has no second derivative, so gradients at a few weights do not tell its minimum"
CLIPPED_GRADIENTS = "Clipping gradients moves the minimum that the steps aim at, which no interval covers."
CURVED = "The curvature is assumed constant over the last third of the steps, so coverage drops when effects are strong."
UNKNOWN_CURVATURE = (
    "Coefficients have no interval where the steps do not determine the curvature of the loss. More steps (mechanism.steps) help."
)
CLIPPED_AWAY = "clipping gradients moves the minimum of this loss by an unknown amount: mechanism.clip=1 clips none"


def iterates(problem: Problem, weights: Array, gradients: Array, noise: Array, clipped: bool = True) -> Uncertainty | str:
    """Return what noisy gradients of the summed loss tell, (runs, T, D), with noise of these standard deviations: (runs, T)."""
    if reason := no_minimum(problem):
        return reason
    assert problem.loss is not None
    if clipped and not problem.loss.exact:
        return CLIPPED_AWAY
    mean = largest_mean(problem)
    last = slice(None) if problem.loss.exact else last_third(weights.shape[1])
    gradients_vary = problem.largest_curvature * LARGEST_VARIANCE if problem.loss.exact else 1.0
    parts = weights[:, last], gradients[:, last], noise[:, last]
    return Iterates(*parts, mean, gradients_vary, problem.loss.exact)


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
    spread: Array
    """The standard deviation of ``curvature``'s noise off the diagonal; without it, how large A's entries can be: (runs,)."""
    dispersion: float = 1.0
    """The covariance of the summed gradient of rows from the population, in units of A; for squared errors the largest one."""
    exact: bool = False
    """Whether the loss is a squared error: A is the same everywhere, and the variance of the residuals is not known."""
    curvature: Array | None = None
    """A as it was released, with noise: (runs, D, D). None: A is estimated from the steps alone."""

    def intervals(self, request: IntervalRequest) -> Intervals | str:
        """Return percentiles of the minima that the released gradients leave possible.

        The minimum is far from linear in A, and the delta method covers .7 to .85 in ill-conditioned designs. An interval is
        infinite where the steps do not tell the curvature.
        """
        if request.method not in self.methods:
            return f"its release allows the methods {', '.join(self.methods)}"
        runs, _, size = self.weights.shape
        low, centre, high = np.empty((3, runs, size))
        errors, known = np.empty((runs, size)), np.empty((runs, size), dtype=bool)
        tail = (1 - request.level) / 2
        for run in range(runs):
            minima, known[run] = self._minima(run, request)
            low[run], centre[run], high[run] = np.quantile(minima, [tail, 0.5, 1 - tail], axis=0, method="weibull")
            errors[run] = minima.std(axis=0)
        low, high, errors = (np.where(known, ends, fill) for ends, fill in ((low, -np.inf), (high, np.inf), (errors, np.inf)))
        return Intervals("iterates", centre, errors, low, high, remarks=tuple(self._remarks(request)))

    def _minima(self, run: int, request: IntervalRequest) -> tuple[Array, Array]:
        """Return drawn minima of one run, and which coefficients the steps determine: (draws, D), (D,)."""
        generator, draws, size = request.stream(run), request.draws, self.weights.shape[2]
        precision = 1 / np.square(self.noise[run])
        middle, gradient = (precision @ array[run] / precision.sum() for array in (self.weights, self.gradients))
        axes, matrix, deviation = self._curvature(run, precision, self.weights[run] - middle, self.gradients[run] - gradient)
        j, k = np.triu_indices(size)
        drawn = np.tile(matrix, (draws, 1, 1))
        drawn[:, j, k] += INFLATION * generator.standard_normal((draws, len(j))) * deviation[j, k]
        drawn[:, k, j] = drawn[:, j, k]
        # the mean gradient is independent of how gradients vary around it, hence of A
        noise = generator.standard_normal((draws, size)) / np.sqrt(precision.sum())
        vector = (noise - gradient) @ axes
        values, vectors = np.linalg.eigh(drawn)
        values = np.maximum(values, LEAST_CURVATURE)
        along = (np.swapaxes(vectors, 1, 2) @ vector[:, :, None])[:, :, 0]
        if request.covers == "population":
            along = along + np.sqrt(self.dispersion * values) * generator.standard_normal((draws, size))
        minima = middle + (vectors @ (along / values)[:, :, None])[:, :, 0] @ axes.T
        return minima, _known(matrix, axes)

    def _curvature(self, run: int, precision: Array, weights: Array, gradients: Array) -> tuple[Array, Array, Array]:
        """Return axes as columns, and along them A and the standard deviations of its independent entries.

        With the centred weights W and gradients G of the steps and the precisions P of their noise, S = W'PW: in the eigenvectors
        of S the entries of A have the precision s_i + s_j + 2λ off the diagonal and half of that on it, where λ = 1/(2 spread²).
        Multiplied with (s_i + λ)^¼ their noise is even: its deviation is 1 on the diagonal, and at most 1/√2 off it.
        """
        values, basis = np.linalg.eigh((weights.T * precision) @ weights)
        moments = np.maximum(values, 0.0)
        rounding = np.finfo(float).eps * len(weights) * max(float(moments[-1]), np.finfo(float).tiny)
        prior = max(float(1 / (2 * np.square(self.spread[run]))), rounding)
        along = basis.T @ (gradients.T * precision) @ weights @ basis
        before = 0.0 if self.curvature is None else basis.T @ self.curvature[run] @ basis
        sums, units = moments[:, None] + moments + 2 * prior, (moments + prior) ** 0.25
        both = units[:, None] * units
        matrix, variances = (along + along.T + 2 * prior * before) / sums, (1 + np.eye(len(sums))) / sums
        return basis * units, both * matrix, both * np.sqrt(variances)

    def _remarks(self, request: IntervalRequest) -> list[str]:
        unknown = [RANGE_ONLY] if self.exact and request.covers == "population" else []
        return [*unknown, CLIPPED_GRADIENTS if self.exact else CURVED, UNKNOWN_CURVATURE]


def _known(matrix: Array, axes: Array) -> Array:
    """Return which coefficients the steps determine, given A in units of its noise along these axes: (D,)."""
    values, vectors = np.linalg.eigh(matrix)
    hidden = axes @ vectors[:, values < max(IDENTIFIED, IDENTIFIED_PER_ROOT * math.sqrt(len(values)))]
    orthonormal = np.linalg.qr(hidden)[0]
    return np.asarray(np.square(orthonormal).sum(axis=1) <= MOST_HIDDEN)
