"""Newton's method for the maximum of a logistic likelihood, over rows or over the bins of a grid."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np

from dpbench.data.bins import Grid
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
    return maximum(lambda w: RowExpansion(x, y, weight, w), x.shape[1], total)


def most_likely_on_grid(grid: Grid, weight: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the same for the bins of a grid, from the weights of every bin with the target 0 and with the target 1."""
    rest, ones = np.ascontiguousarray(weight[..., 0]), np.ascontiguousarray(weight[..., 1])
    total = rest + ones
    return maximum(lambda w: GridExpansion(grid, total, rest, ones, w), grid.head.shape[1], float(total.sum()))


def maximum(expand: Callable[[np.ndarray], Expansion], size: int, total: float) -> tuple[np.ndarray, bool]:
    """Return where an expanded loss of rows with this total weight is smallest, and whether the minimum was reached."""
    w = np.zeros(size)
    if not total:
        return w, True
    current = expand(w)
    mean_square = 4 * current.hessian / total  # X'X / n, because every row has curvature ¼ at w = 0
    last_gain = np.inf
    for _ in range(MAX_NEWTON_STEPS):
        step = -np.linalg.solve(current.hessian + HESSIAN_DAMPING * np.eye(len(w)), current.gradient)
        slope = float(current.gradient @ step)
        step_is_small = step @ mean_square @ step <= STEP_TOLERANCE**2
        if last_gain / 10 < -slope < NEGLIGIBLE_GAIN and not step_is_small:
            break
        last_gain, share = -slope, 1.0
        candidate = expand(w + step)
        while not _falls_enough(current, candidate, share * step, share * slope) and share > 1e-9:
            share /= 2
            candidate = expand(w + share * step)
        w, current = w + share * step, candidate
        if step_is_small:
            return w, True
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


class GridExpansion:
    """The same for the bins of a grid. The log odds of a bin are a sum of two parts, so that no bin needs an exponential."""

    def __init__(self, grid: Grid, total: np.ndarray, rest: np.ndarray, ones: np.ndarray, w: np.ndarray) -> None:
        self._total, self._rest = total, rest
        self._head, self._tail = grid.head @ w, grid.tail @ w
        self.gradient = np.zeros(len(w))
        self.hessian = np.zeros((len(w), len(w)))
        for part in self._parts():
            share = self._odds_against(part)
            share += 1
            np.reciprocal(share, out=share)  # P[y = 1]
            expected = total[part] * share
            share *= expected
            np.subtract(expected, share, out=share)  # weight · p · (1 - p)
            expected -= ones[part]
            self.gradient += grid.sum(part, expected)
            self.hessian += grid.gram(part, share)

    @cached_property
    def loss(self) -> float:
        """The summed loss: t + log(1 + exp(-t)) for each bin less t for each target of 1, whose terms in t are separable."""
        linear = self._rest.sum(axis=1) @ self._head + self._rest.sum(axis=0) @ self._tail
        return float(linear + sum(np.vdot(self._total[part], self._decay(part)) for part in self._parts()))

    def _odds_against(self, part: slice) -> np.ndarray:
        """Return exp(-t) of some heads' bins."""
        head, tail = self._head[part, None], self._tail[None]
        if self._moderate:
            return np.asarray(np.exp(-head) * np.exp(-tail))
        return np.asarray(np.exp(np.minimum(-head - tail, 2 * MAX_PART_LOG_ODDS)))

    def _decay(self, part: slice) -> np.ndarray:
        """Return log(1 + exp(-t)) of some heads' bins."""
        if self._moderate:
            return np.asarray(np.log1p(self._odds_against(part)))
        return np.asarray(np.logaddexp(0, -self._head[part, None] - self._tail))

    @cached_property
    def _moderate(self) -> bool:
        return bool(max(np.abs(self._head).max(), np.abs(self._tail).max()) <= MAX_PART_LOG_ODDS)

    def _parts(self) -> list[slice]:
        size = max(BINS_AT_A_TIME // len(self._tail), 1)
        return [slice(start, start + size) for start in range(0, len(self._head), size)]
