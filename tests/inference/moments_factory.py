"""Noisy second moments of tables that are drawn from a known regression."""

from __future__ import annotations

import numpy as np

from dpbench.privacy.noise import Gaussian, Laplace, Law
from dpbench.privacy.queries.noisy_moments import NoisyMoments

COEFFICIENTS = np.array([0.1, 0.3, -0.2, 0.15])
"""Of an intercept and three columns."""


def exact_sums(runs: int, n: int, generator: np.random.Generator, noise: float = 0.2) -> np.ndarray:
    """Return z'z of z = (1, x, y) for uniform columns and normal errors: (runs, 5, 5)."""
    sums = []
    for _ in range(runs):
        x = np.column_stack([np.ones(n), generator.uniform(-1, 1, (n, 3))])
        y = x @ COEFFICIENTS + noise * generator.standard_normal(n)
        z = np.column_stack([x, y])
        sums.append(z.T @ z)
    return np.stack(sums)


def noisy(sums: np.ndarray, scale: float, law: Law | None = None, seed: int = 0, square: bool = True) -> NoisyMoments:
    """Return the sums with noise: of this scale off the diagonal of X'X and on X't, twice that on the diagonal and on t't."""
    law, generator = law or Laplace(), np.random.default_rng(seed)
    runs, size = len(sums), sums.shape[1] - 1
    scales = np.full((size, size), scale)
    np.fill_diagonal(scales, 2 * scale)
    scales[0, 0] = 0.0
    j, k = np.triu_indices(size)
    matrix = sums[:, :size, :size].copy()
    entries = law.standard(generator, runs * len(j)).reshape(runs, -1) * scales[j, k]
    matrix[:, j, k] += entries
    matrix[:, k, j] = matrix[:, j, k]
    vector = sums[:, :size, size] + scale * law.standard(generator, runs * size).reshape(runs, size)
    squares = sums[:, size, size] + 2 * scale * law.standard(generator, runs)
    return NoisyMoments(matrix, vector, squares if square else None, law, scales[None], np.full((1, size), scale))


LAWS = {"laplace": Laplace(), "gaussian": Gaussian()}
