"""What the planted faults share: noise on sums of products, then least squares. Each fault breaks one step of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.privacy.noise import Noise, laplace
from dpbench.privacy.queries.query import RowQuery


class Products(RowQuery):
    """The sum over rows of what ``contribute`` returns: (rows, size)."""

    def __init__(self, size: int, contribute: Callable[[Any], np.ndarray], name: str = "products") -> None:
        self._size = size
        self._contribute = contribute
        self.name = name

    @property
    def size(self) -> int:
        return self._size

    def contribution(self, rows: Any, run: int = 0) -> np.ndarray:
        return self._contribute(rows)


@dataclass(frozen=True)
class Planted(Mechanism):
    """Noise on the sums of x_j x_k and x_j y, each of which one row changes by at most 2, then least squares."""

    guarantee: ClassVar[str] = "ε-DP, it says"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        return self.finish(curator, self.ask(curator, budget))

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        return curator.release(query, self.noise(query, budget.epsilon))

    def query(self, curator: Any) -> Any:
        return Products(size_of(curator), self.contribute)

    def contribute(self, rows: Any) -> np.ndarray:
        return products(rows)

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(2 * query.size, epsilon, "every product lies in [-1, 1]")

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return Fit.good(least_squares(answer, curator.geometry.dimension))


def size_of(curator: Any) -> int:
    """Return the number of products."""
    dimension = curator.geometry.dimension
    return dimension * (dimension + 1) // 2 + dimension


def products(rows: Any) -> np.ndarray:
    """Return x_j x_k for j <= k, then x_j y, of each row."""
    x = rows.x
    j, k = np.triu_indices(x.shape[1])
    return np.concatenate([x[:, j] * x[:, k], x * rows.y[:, None]], axis=1)


def least_squares(answer: np.ndarray, dimension: int) -> np.ndarray:
    """Return the minimisers with positive eigenvalues, from noisy sums of products: (runs, D)."""
    j, k = np.triu_indices(dimension)
    matrix = np.zeros((len(answer), dimension, dimension))
    matrix[:, j, k] = answer[:, : len(j)]
    matrix[:, k, j] = answer[:, : len(j)]
    values, vectors = np.linalg.eigh(matrix)
    steep = np.maximum(values, 1.0)
    inner = np.einsum("rji,rj->ri", vectors, answer[:, len(j) :])
    return np.einsum("rij,rj->ri", vectors, inner / steep)


def exact_sums(rows: Any) -> np.ndarray:
    """Return the sums of products without noise: (1, size)."""
    return products(rows).sum(axis=0)[None]
