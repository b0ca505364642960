"""Intervals from the steps of a descent: noisy gradients at known weights tell where the gradient is zero.

Near its minimum a loss has the gradient Aw - b, and for squared errors everywhere. Each step released a gradient, with noise of a
known size, at weights that are released too. So A and b are the unknowns of a linear regression, and the fit is A⁻¹b. The least
squares estimate of a symmetric A has a closed form, and its errors are independent in the basis of the principal axes of the
weights. Where these hardly moved, A is unknown, and a weak prior stands in for it: a multiple of the identity, whose size the
steps tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.model import Problem
from dpbench.contracts.uncertainty import IntervalRequest, Intervals, Method, Uncertainty
from dpbench.inference.noisy_regression import LARGEST_VARIANCE
from dpbench.inference.released_moments import PENALISED, RANGE_ONLY
from dpbench.privacy.queries.quadratic import Quadratic

Array = np.ndarray

PRIOR_SPREAD = 0.12
"""The standard deviation of an entry of A under the prior: this times the largest mean eigenvalue of A, over √D."""
FLOOR = 0.01
"""The floor of A's eigenvalues, in units of the largest mean eigenvalue."""
MEAN_CURVATURE = (0.02, 1 / 3, 1.0)
"""The prior's diagonal in the same units: at least, if the steps tell nothing (columns uniform over their bounds), at most."""
NOT_SMOOTH = "its loss has no second derivative, so gradients at a few weights do not tell its minimum"
CLIPPED = (
    "Clipping gradients moves the minimum that the descent aims at, which no interval covers: coverage is lower where many are "
    "clipped (few rows, a small ε or a small clip)."
)
CURVED = "The curvature of the loss is taken for that of the mean step: the stronger the effects, the lower is the coverage."
PRIOR = "They are wide where the descent has explored little of the curvature: a prior for it stands in."


def iterates(problem: Problem, weights: Array, gradients: Array, noise: Array) -> Uncertainty | str:
    """Return what noisy gradients of the summed loss tell, (runs, T, D), with noise of this standard deviation: (runs,)."""
    runs, size = len(problem.n), problem.geometry.dimension
    nothing = Quadratic(np.zeros((runs, size, size)), np.zeros((runs, size)))
    if not problem.closed_form or problem.regularised(nothing).matrix.any():
        return PENALISED
    if problem.loss is None:
        return NOT_SMOOTH
    mean = problem.n * problem.largest_curvature * problem.geometry.squared_norm / size
    return Iterates(weights, gradients, noise, mean, problem.largest_curvature if problem.loss.exact else None)


@dataclass(frozen=True)
class Iterates(Uncertainty):
    """Weights, the noisy gradient at each of them, and the standard deviation of its noise."""

    methods: ClassVar[tuple[Method, ...]] = ("iterates",)

    weights: Array
    """(runs, T, D)"""
    gradients: Array
    """(runs, T, D)"""
    noise: Array
    """(runs,)"""
    largest_mean: Array
    """The largest possible mean of A's eigenvalues: (runs,)."""
    scale: float | None = None
    """For squared errors: how many times X'X A is. None if the loss is a log likelihood, whose gradients vary as A says."""

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
            ends = np.quantile(minima, [tail, 0.5, 1 - tail], axis=0, method="weibull")
            low[run], centre[run], high[run] = ends
            covariance[run] = np.cov(minima, rowvar=False).reshape(size, size)
            floored[run] = raised.mean() > 0.5
        errors = np.sqrt(np.einsum("rii->ri", covariance))
        remarks = tuple(self._remarks(request))
        return Intervals("iterates", centre, errors, low, high, covariance, floored=floored, remarks=remarks)

    def _minima(self, run: int, request: IntervalRequest) -> tuple[Array, Array]:
        """Return drawn minima of one run, and whether the floor was active: (draws, D), (draws,)."""
        generator, draws, size = request.stream(run), request.draws, self.weights.shape[2]
        middle, basis, matrix, deviation = self._curvature(run)
        mean_gradient = self.gradients[run].mean(axis=0) @ basis
        j, k = np.triu_indices(size)
        drawn = np.tile(matrix, (draws, 1, 1))
        drawn[:, j, k] += generator.standard_normal((draws, len(j))) * deviation[j, k]
        drawn[:, k, j] = drawn[:, j, k]
        # the mean gradient is independent of how gradients vary around it, hence of A
        of_mean = self.noise[run] / np.sqrt(self.weights.shape[1])
        vector = of_mean * generator.standard_normal((draws, size)) - mean_gradient
        values, vectors = np.linalg.eigh(drawn)
        floor = FLOOR * self.largest_mean[run]
        raised = np.maximum(values, floor)
        along = (np.swapaxes(vectors, 1, 2) @ vector[:, :, None])[:, :, 0]
        if request.covers == "population":
            along = along + np.sqrt(self._dispersion * raised) * generator.standard_normal((draws, size))
        return middle + (vectors @ (along / raised)[:, :, None])[:, :, 0] @ basis.T, values[:, 0] < floor

    @property
    def _dispersion(self) -> float:
        """The covariance of the summed gradient of rows from the population, in units of A; at most, for squared errors."""
        return 1.0 if self.scale is None else self.scale * LARGEST_VARIANCE

    def _curvature(self, run: int) -> tuple[Array, Array, Array, Array]:
        """Return the mean weights, a basis, and in that basis A and the standard deviations of its independent entries.

        With the centred weights W and gradients G, S = W'W and noise of variance τ², the entries of A in the eigenvectors of S
        have the precision (s_i + s_j + 2λ)/τ² off the diagonal and half of that on it, where λ = τ²/(2 v²) is the prior's.
        """
        weights, gradients, unit = self.weights[run], self.gradients[run], self.largest_mean[run]
        size = weights.shape[1]
        middle = weights.mean(axis=0)
        centred = weights - middle
        moments, basis = np.linalg.eigh(centred.T @ centred)
        variance = np.square(self.noise[run])
        rounding = np.finfo(float).eps * len(weights) * max(float(moments[-1]), np.finfo(float).tiny)
        prior = max(float(variance / (2 * PRIOR_SPREAD**2 * unit**2 / size)), rounding)
        along = basis.T @ (gradients - gradients.mean(axis=0)).T @ centred @ basis
        least, usual, most = np.multiply(MEAN_CURVATURE, unit)
        diagonal = (np.trace(along) + prior * size * usual) / (np.maximum(moments, 0.0).sum() + prior * size)
        sums = np.maximum(moments, 0.0) + prior
        precision = sums[:, None] + sums
        matrix = (along + along.T + 2 * prior * np.clip(diagonal, least, most) * np.eye(size)) / precision
        deviation = self.noise[run] / np.sqrt(precision / (1 + np.eye(size)))
        return middle, basis, matrix, deviation

    def _remarks(self, request: IntervalRequest) -> list[str]:
        unknown = [RANGE_ONLY] if self.scale is not None and request.covers == "population" else []
        return [*unknown, CLIPPED, *([CURVED] if self.scale is None else []), PRIOR]
