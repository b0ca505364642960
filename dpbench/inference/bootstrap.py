"""The parametric bootstrap of Ferrando, Wang and Sheldon 2022: draw tables like the estimated one, and release them again."""

import math

import numpy as np

from dpbench.contracts.uncertainty import IntervalRequest
from dpbench.inference.noisy_regression import NoisyRegression

Array = np.ndarray


def bootstrapped(fit: NoisyRegression, variance: Array, request: IntervalRequest) -> tuple[Array, Array, Array]:
    """Return the percentiles of the estimates of drawn releases, low and high (runs, D), and their covariance.

    For each run: c* = Qβ + σ √Q g with a standard normal g, Q* = Q + noise, c* + noise, and the same floor (ALGORITHMS 12.2).
    ``variance`` is σ² of each run. The intervals are percentiles of the new estimates, at order p(B + 1): with the usual order a
    bootstrap of 200 draws covers .9405 where it says .95. Intervals reflected at the estimate are not better: they cover .98
    where the signal is weak, and .81 where the floor is active.
    """
    runs, size = fit.estimate.shape
    low, high, covariance = np.empty((runs, size)), np.empty((runs, size)), np.empty((runs, size, size))
    tails = (1 - request.level) / 2
    for run in range(runs):
        drawn = _estimates(fit, run, float(variance[run]), request.draws, request.stream(run))
        low[run], high[run] = np.quantile(drawn, [tails, 1 - tails], axis=0, method="weibull")
        covariance[run] = np.cov(drawn, rowvar=False).reshape(size, size)
    return low, high, covariance


def _estimates(fit: NoisyRegression, run: int, variance: float, draws: int, generator: np.random.Generator) -> Array:
    """Return the estimates of releases of tables like that of one run: (draws, D)."""
    size, one = fit.size, min(run, len(fit.matrix_scale) - 1)
    values, vectors = fit.eigen[0][run], fit.eigen[1][run]
    sampled = generator.standard_normal((draws, size)) @ (vectors * np.sqrt(variance * values)).T
    vector = fit.definite[run] @ fit.estimate[run] + sampled + _noise(fit, generator, fit.vector_scale[one], draws)
    j, k = np.nonzero(np.triu(fit.matrix_scale[one]))
    matrix = np.tile(fit.definite[run], (draws, 1, 1))
    if len(j):
        entries = _noise(fit, generator, fit.matrix_scale[one][j, k], draws)
        matrix[:, j, k] += entries
        matrix[:, k, j] += np.where(j == k, 0.0, entries)
        if fit.around is not None:
            vector = vector + (matrix - fit.definite[run]) @ fit.around[run]
    return floored_solution(matrix, vector, float(fit.floor[min(run, len(fit.floor) - 1)]))


def _noise(fit: NoisyRegression, generator: np.random.Generator, scale: Array, draws: int) -> Array:
    return fit.law.shape(fit.law.standard(generator, draws * len(scale)).reshape(draws, -1), scale)


def floored_solution(matrix: Array, vector: Array, floor: float) -> Array:
    """Return Q⁻¹c of each pair, with the eigenvalues of Q raised to the floor: (draws, D).

    Most draws need no floor: a Cholesky decomposition tells, at a tenth of what eigenvectors cost.
    """
    floor = max(floor, math.ulp(0.0))
    try:
        np.linalg.cholesky(matrix - floor * np.eye(matrix.shape[1]))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        along = (np.swapaxes(vectors, 1, 2) @ vector[:, :, None]) / np.maximum(values, floor)[:, :, None]
        return np.asarray((vectors @ along)[:, :, 0])
    return np.asarray(np.linalg.solve(matrix, vector[:, :, None])[:, :, 0])
