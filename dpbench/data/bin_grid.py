"""Sums over the bins of a grid, without a row for each bin: what a bin stands for is the sum of two parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Grid:
    """All bins in order: bin (i, j) stands for the row head_i + tail_j. Numbers of the bins are (heads, tails)."""

    head: np.ndarray
    """(heads, columns)"""
    tail: np.ndarray
    """(tails, columns)"""

    def part(self, heads: slice) -> Grid:
        """Return the bins of consecutive heads."""
        return Grid(self.head[heads], self.tail)

    def at(self, positions: np.ndarray) -> ScatteredBins:
        """Return some of the bins, whose positions ascend: (bins,)."""
        return ScatteredBins(self.head, self.tail, positions)

    def combine(self, operation: np.ufunc, of_heads: np.ndarray, of_tails: np.ndarray) -> np.ndarray:
        """Return for each bin the sum, or another operation, of a number of its head and one of its tail."""
        return np.asarray(operation.outer(of_heads, of_tails))

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weight · row over the bins."""
        matrix = self._matrix(weights)
        return np.asarray(matrix.sum(axis=1) @ self.head + matrix.sum(axis=0) @ self.tail)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weight · row row' over the bins, in one pass over the weights: four small products."""
        matrix = self._matrix(weights)
        across = self.head.T @ (matrix @ self.tail)
        leading = (self.head.T * matrix.sum(axis=1)) @ self.head
        return np.asarray(leading + across + across.T + (self.tail.T * matrix.sum(axis=0)) @ self.tail)

    def _matrix(self, weights: np.ndarray) -> Any:
        """Return the weights as a matrix of heads and tails."""
        return weights


@dataclass(frozen=True, eq=False)
class ScatteredBins(Grid):
    """Some bins of a grid in order, where the others have no weight: they take no time. Numbers of the bins are (bins,)."""

    positions: np.ndarray
    """Their places among all bins, which ascend. A bin may occur again, with another target."""

    def combine(self, operation: np.ufunc, of_heads: np.ndarray, of_tails: np.ndarray) -> np.ndarray:
        tails, starts = self._places
        return np.asarray(operation(np.repeat(of_heads, np.diff(starts)), of_tails.take(tails)))

    def _matrix(self, weights: np.ndarray) -> Any:
        from scipy.sparse import csr_array  # imported where a histogram needs it

        tails, starts = self._places
        return csr_array((weights, tails, starts), shape=(len(self.head), len(self.tail)))

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """The tail of each bin, and the number of bins before each head."""
        heads, tails = np.divmod(self.positions, len(self.tail))
        return tails.astype(np.int32), np.searchsorted(heads, np.arange(len(self.head) + 1)).astype(np.int32)
