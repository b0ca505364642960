"""Quantiles of a sum of normal and of Laplace noise, in units of its standard deviation."""

from functools import cache

import numpy as np

Array = np.ndarray

LAPLACE = 3.0
"""The excess kurtosis of Laplace noise, the largest of any sum of independent normal and Laplace noise."""
GRID = 61
"""Values of the excess kurtosis at which a quantile is computed. Between them it is interpolated."""
NODES = 2_000
"""Values of the random variance over which the normal law is averaged."""


def two_sided(level: float, degrees: Array, kurtosis: Array) -> Array:
    """Return how many standard errors reach to either side: Student's quantile, times what the tails of the noise add.

    ``degrees`` (runs,) are the degrees of freedom of the residual variance; ``kurtosis`` (runs, D) is what the noise leaves in
    each estimate. A weighted sum of Laplace noise is taken for one of the variance gamma law with the same kurtosis, which is
    exact for equal weights, and the normal law where there is none (Cornish and Fisher's expansion overshoots at 3).
    """
    from scipy.special import stdtrit

    students = np.asarray(stdtrit(np.maximum(degrees, 1.0), (1 + level) / 2))[:, None]
    grid, quantiles = _variance_gamma(level)
    heavier = np.interp(np.clip(kurtosis, 0.0, LAPLACE), grid, quantiles) / quantiles[0]
    return np.asarray(students * heavier)


@cache
def _variance_gamma(level: float) -> tuple[Array, Array]:
    """Return the two-sided quantile of the variance gamma law with variance 1, at each excess kurtosis of a grid.

    The law is normal with a random variance, Gamma(3/kurtosis) over its mean. Its probabilities are averages over quantiles of
    that variance, and bisection inverts them.
    """
    from scipy.special import gammaincinv, ndtr

    grid = np.linspace(0.0, LAPLACE, GRID)
    shares = (np.arange(NODES) + 0.5) / NODES
    spreads = [np.sqrt(gammaincinv(3 / kurtosis, shares) * kurtosis / 3) for kurtosis in grid[1:]]
    deviations = np.maximum(np.stack([np.ones(NODES), *spreads]), np.finfo(float).tiny)
    low, high = np.zeros(GRID), np.full(GRID, 20.0)
    for _ in range(60):
        middle = (low + high) / 2
        inside = (2 * ndtr(middle[:, None] / deviations) - 1).mean(axis=1)
        low, high = np.where(inside < level, middle, low), np.where(inside < level, high, middle)
    return grid, high
