"""Patterns of broken (and wasteful) guarantees that were seen in public code, each rewritten in a few lines of NumPy.

They are our reading of it, not its code, and not confirmed by its authors. docs/gallery.md says where each was seen, and what
audits find. All take features (n, d), a target (n,), a number of runs and a seed, and return numbers that claim to be private.
"""

from __future__ import annotations

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon

Array = np.ndarray


def boosted_sigma(x: Array, y: Array, runs: int, seed: int, rounds: int = 10, epsilon: float = 1.0, delta: float = 1e-6) -> Array:
    """The pattern of a boosted AdaSSP: the calibration returns μ, and μ is used as a standard deviation, which is about 1 / μ.

    Rows lie in the unit ball, targets in [-1, 1]. A noisy Gram matrix with a noisy ridge, then rounds on noisy residual moments.
    """
    sigma = gdp_of_epsilon(epsilon, delta)  # the fault: σ should be the sensitivity, times √(2 + rounds), divided by μ
    generator, size = np.random.default_rng(seed), x.shape[1]
    upper = np.triu(generator.normal(0, sigma, (runs, size, size)))
    gram = x.T @ x + upper + np.swapaxes(np.triu(upper, 1), 1, 2)
    least = np.linalg.eigvalsh(x.T @ x)[0] + generator.normal(0, sigma, runs)
    ridge = np.maximum(0, np.sqrt(size) * sigma * 1.96 - np.maximum(0, least - 1.96 * sigma))
    gram = gram + ridge[:, None, None] * np.eye(size)
    weights = np.zeros((runs, size))
    for _ in range(rounds):
        residuals = np.clip(y - weights @ x.T, -1, 1)
        moments = residuals @ x + generator.normal(0, sigma, (runs, size))
        weights = weights + np.linalg.solve(gram, moments[..., None])[..., 0]
    return weights


def least_eigenvalue(x: Array, y: Array, runs: int, seed: int, epsilon: float = 1.0) -> Array:
    """The pattern of output perturbation whose sensitivity divides by the least eigenvalue of the private X'X.

    Rows lie in the unit ball, targets in [-1, 1]. The eigenvalue is private: the size of the noise tells it.
    """
    sensitivity = 4 / np.linalg.eigvalsh(x.T @ x)[0]  # the fault: a sensitivity must hold for all tables
    fitted = np.linalg.solve(x.T @ x, x.T @ y)
    generator = np.random.default_rng(seed)
    direction = generator.normal(size=(runs, len(fitted)))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    length = generator.gamma(len(fitted), sensitivity / epsilon, (runs, 1))
    return np.asarray(fitted + length * direction)


def one_coordinate(x: Array, y: Array, runs: int, seed: int, mu: float = 1.0, charge_vector: bool = False) -> Array:
    """The pattern of a binned regression: the sums of a bin's d features together are charged what one of them costs.

    Features lie in [0, 1], targets in [-1, 1]. Two fixed bins, cut at one half of the first feature. Counts, sums of features and
    sums of targets get a third of the budget each (in μ²). With ``charge_vector`` the features get the noise of a whole vector.
    """
    generator, (_, size) = np.random.default_rng(seed), x.shape
    share = mu / np.sqrt(3)
    bins = np.stack([x[:, 0] < 0.5, x[:, 0] >= 0.5]).astype(float)
    sensitivity = np.sqrt(size) if charge_vector else 1.0  # the fault: 1, the largest change of a single coordinate
    counts = bins.sum(axis=1) + generator.normal(0, 1 / share, (runs, 2))
    features = (bins @ x).ravel() + generator.normal(0, sensitivity / share, (runs, 2 * size))
    targets = bins @ y + generator.normal(0, 1 / share, (runs, 2))
    return np.concatenate([counts, features, targets], axis=1)


def gradient_mean(x: Array, y: Array, runs: int, seed: int, steps: int = 10, mu: float = 1.0) -> Array:
    """The pattern of an example of descent that adds the noise of the clipped gradients' sum to their mean.

    Rows lie in the unit ball, targets in [-1, 1]. It is private, and adds n times the noise that it needs.
    """
    generator, (count, size) = np.random.default_rng(seed), x.shape
    weights = np.zeros((runs, size))
    for _ in range(steps):
        gradients = np.clip(weights @ x.T - y, -1, 1)[..., None] * x  # of norm 1 at most
        noise = generator.normal(0, 2 * np.sqrt(steps) / mu, (runs, size))  # replacing a row moves the sum by 2
        weights = weights - 0.5 * (gradients.sum(axis=1) / count + noise)  # the waste: it moves the mean by 2 / n
    return weights
