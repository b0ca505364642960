"""Newton's method for the maximum of a logistic likelihood, over rows or over the bins of a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from dpbench.data.bin_grid import Grid
from dpbench.data.scaling import CHUNK

MAX_NEWTON_STEPS = 50
"""A run is called diverged after this many steps. A fit takes 5 to 10; detecting that none exists takes about 20."""
STEP_TOLERANCE = 1e-8
"""A fit has converged when a step changes x'w by less than this (root mean square over its rows).

Newton's method converges quadratically, so the next step would change it by about the square of this.
"""
NEGLIGIBLE_GAIN = 1e-6
"""Below this gain in log-likelihood, slow progress means that no minimum exists.

Near a minimum each gain is of the order of the square of the last one. Along a direction that separates the classes it is 1/e of
the last one. So gains below this value that shrink less than tenfold per step belong to a separating direction.
"""
HESSIAN_DAMPING = 1e-6
"""Added to the Hessian's diagonal, so that weights do not move in flat directions. The objective itself does not change."""
SUFFICIENT_DECREASE = 1e-4
"""The share of the predicted fall of the loss that a step must reach (Armijo)."""
MAX_SAFE_STEP = 1.7
"""A Newton step that changes no row's x'w by more than this reaches that share: the loss need not be computed.

Where x'w changes by at most R, a row's curvature grows at most by a factor of e^R, since its derivative is at most itself. So the
loss falls by at least the predicted fall times 1 - (e^R - R - 1) / R². From w = 0, where the curvature is largest, it falls by at
least half of the predicted fall.
"""
BINS_AT_A_TIME = 2**15
"""Bins of a grid whose log odds are formed together: they stay in the processor's cache."""
MAX_PART_LOG_ODDS = 300.0
"""Up to this size, the exponentials of both parts of the log odds and their products are far from overflow."""


class Expansion(Protocol):
    """The summed loss around w: its gradient and Hessian, and on demand its value."""

    gradient: np.ndarray
    hessian: np.ndarray

    @property
    def loss(self) -> float: ...


def most_likely(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
    """Return the weights that maximise the likelihood of (weighted) rows, and whether the maximum was reached."""
    total = float(len(x) if weight is None else weight.sum())
    largest = np.maximum(x.max(axis=0, initial=0), -x.min(axis=0, initial=0))
    return maximum(lambda w: RowExpansion(x, y, weight, w), lambda step: float(largest @ np.abs(step)), x.shape[1], total)


def most_likely_on_grid(grid: Grid, weight: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the same for all bins of a grid, from their weights with the target 0 and with the target 1: (bins, 2)."""
    ones = np.ascontiguousarray(weight[:, 1]).reshape(len(grid.head), -1)
    total = weight[:, 0].reshape(ones.shape) + ones
    size = max(BINS_AT_A_TIME // len(grid.tail), 1)
    parts = [slice(start, start + size) for start in range(0, len(grid.head), size)]
    return most_likely_in_bins([(grid.part(part), total[part], ones[part]) for part in parts])


def most_likely_in_bins(parts: Sequence[tuple[Grid, np.ndarray, np.ndarray]]) -> tuple[np.ndarray, bool]:
    """Return the same for parts of a grid, from the total weight of each bin and its weight with the target 1."""
    bins = [(grid, total) for grid, total, _ in parts]
    sum_of_ones = np.sum([grid.sum(ones) for grid, _, ones in parts], axis=0)

    def longest(step: np.ndarray) -> float:
        return max(float(np.abs(grid.head @ step).max() + np.abs(grid.tail @ step).max()) for grid, _ in bins)

    size, total_weight = parts[0][0].head.shape[1], sum(float(total.sum()) for _, total in bins)
    return maximum(lambda w: BinExpansion(bins, sum_of_ones, w), longest, size, total_weight)


def maximum(
    expand: Callable[[np.ndarray], Expansion], longest: Callable[[np.ndarray], float], size: int, total: float
) -> tuple[np.ndarray, bool]:
    """Return where an expanded loss of rows with this total weight is smallest, and whether the minimum was reached.

    ``longest`` bounds by how much a step changes x'w of any row.
    """
    w = np.zeros(size)
    if not total:
        return w, True
    current = expand(w)
    mean_square = 4 * current.hessian / total  # X'X / n, because every row has curvature ¼ at w = 0
    last_gain = np.inf
    for number in range(MAX_NEWTON_STEPS):
        step = -np.linalg.solve(current.hessian + HESSIAN_DAMPING * np.eye(len(w)), current.gradient)
        slope = float(current.gradient @ step)
        if step @ mean_square @ step <= STEP_TOLERANCE**2:
            return w + step, True
        if last_gain / 10 < -slope < NEGLIGIBLE_GAIN:
            break
        last_gain, share = -slope, 1.0
        candidate = expand(w + step)
        if number > 0 and longest(step) > MAX_SAFE_STEP:
            while not _falls_enough(current, candidate, share * step, share * slope) and share > 1e-9:
                share /= 2
                candidate = expand(w + share * step)
        w, current = w + share * step, candidate
    return w, False


def _falls_enough(current: Expansion, candidate: Expansion, step: np.ndarray, slope: float) -> bool:
    """Return whether the loss falls enough along a step (Armijo); the factor 1 + 1e-12 allows for rounding near the minimum."""
    # a convex loss falls by at least its slope at the end of the step, which often spares the value of the loss
    if candidate.gradient @ step <= SUFFICIENT_DECREASE * slope:
        return True
    return candidate.loss <= current.loss * (1 + 1e-12) + SUFFICIENT_DECREASE * slope


class RowExpansion:
    """The summed loss of (weighted) rows at w, with its gradient and Hessian, computed in chunks of rows."""

    def __init__(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, w: np.ndarray) -> None:
        self._x, self._y, self._weight, self._w = x, y, weight, w
        self.gradient = np.zeros(len(w))
        self.hessian = np.zeros((len(w), len(w)))
        for start in range(0, len(x), CHUNK):
            part = slice(start, start + CHUNK)
            design, target = x[part], y[part]
            log_odds = design @ w
            # every formula uses exp(-|t|), which cannot overflow
            decay = np.exp(-np.abs(log_odds))
            likelier = 1 / (1 + decay)  # the probability of the likelier class
            slope = np.where(log_odds >= 0, likelier, decay * likelier) - target
            curvature = decay * likelier * likelier
            if weight is not None:
                slope, curvature = slope * weight[part], curvature * weight[part]
            self.gradient += slope @ design
            self.hessian += design.T @ (design * curvature[:, None])

    @cached_property
    def loss(self) -> float:
        """The summed loss: another pass over the rows."""
        total = 0.0
        for start in range(0, len(self._x), CHUNK):
            part = slice(start, start + CHUNK)
            log_odds = self._x[part] @ self._w
            loss = np.maximum(log_odds, 0) + np.log1p(np.exp(-np.abs(log_odds))) - self._y[part] * log_odds
            total += float((loss if self._weight is None else loss * self._weight[part]).sum())
        return total


class BinExpansion:
    """The same for the bins of a grid. The log odds of a bin are a sum of two parts, so that no bin needs an exponential."""

    def __init__(self, bins: Sequence[tuple[Grid, np.ndarray]], sum_of_ones: np.ndarray, w: np.ndarray) -> None:
        self._bins, self._sum_of_ones, self._w = bins, sum_of_ones, w
        self.gradient = -sum_of_ones
        self.hessian = np.zeros((len(w), len(w)))
        for grid, total in bins:
            share = self._odds_against(grid)
            share += 1
            np.reciprocal(share, out=share)  # P[y = 1]
            expected = total * share
            self.gradient += grid.sum(expected)
            share *= expected
            np.subtract(expected, share, out=share)  # weight · p · (1 - p)
            self.hessian += grid.gram(share)

    @cached_property
    def loss(self) -> float:
        """The summed loss: t + log(1 + exp(-t)) for each bin less t for each target of 1, whose terms in t are separable."""
        linear = (sum(grid.sum(total) for grid, total in self._bins) - self._sum_of_ones) @ self._w
        return float(linear + sum(np.vdot(total, self._decay(grid)) for grid, total in self._bins))

    def _odds_against(self, grid: Grid) -> np.ndarray:
        """Return exp(-t) of some bins."""
        head, tail = self._parts(grid)
        if max(np.abs(head).max(), np.abs(tail).max()) <= MAX_PART_LOG_ODDS:
            return grid.combine(np.multiply, np.exp(-head), np.exp(-tail))
        return np.asarray(np.exp(np.minimum(grid.combine(np.subtract, -head, tail), 2 * MAX_PART_LOG_ODDS)))

    def _decay(self, grid: Grid) -> np.ndarray:
        """Return log(1 + exp(-t)) of some bins."""
        head, tail = self._parts(grid)
        return np.asarray(np.logaddexp(0, grid.combine(np.subtract, -head, tail)))

    def _parts(self, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        return grid.head @ self._w, grid.tail @ self._w
