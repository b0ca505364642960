"""The maximum of a logistic likelihood for many runs whose rows are parts of one table, as in cross-validation.

The training rows of two folds overlap, so their maxima lie close to that of the whole table: at a distance δ of about 1/√n. All
runs of a repeat start there and take their steps together, so that one pass over the table serves all of them:

- At the start, a run's gradient and Hessian are those of the table minus those of the few rows that it leaves out. This gives a
  Newton step for each run. With the table's third derivative for its curvature, an error of about δ³ is left.
- Where that is too much, further steps need gradients alone (a chord method).
- A last step with each run's own Hessian, which the standard errors need as well, squares the error.

What a run gets depends on the table of its repeat and on how that is split, never on other repeats. A run on which this does
not converge, or whose rows leave another direction flat than the table's, is fitted alone, from w = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.data.moments import gram
from dpbench.data.samples import Sample, TableOfRuns
from dpbench.data.scaling import CHUNK, Rows

from ._newton import HESSIAN_DAMPING, RowExpansion, most_likely

MAX_STEPS = 12
MAX_RATE = 0.1
"""Where a chord step does not shrink to this fraction of the last one, each run gets its own Hessian."""
LAST_STEP = 1e-6
"""The last step changes x'w by less than this (root mean square). Its own error is about the square of this."""
HESSIAN_ERROR = 1e-8
"""The Hessian at the maximum is off by less than this, relative to its size."""
MAX_COLUMNS_OF_THIRD = 24
"""For more columns the third derivative would cost more than the passes over the table that it spares."""
NUMBERS_AT_A_TIME = 2**16
"""Numbers of a block of rows: it stays in the processor's cache."""
CURVED, FLAT = 1e-9, 1e-12
"""A direction has curvature above the first, relative to the largest, and none below the second."""
MIN_CURVATURE_OF_ROW = 1e-12
"""Curvatures of rows are divided by, where they stand for this at least. It only matters for how good the first step is."""
MAX_STEP_IN_FLOAT32 = 1e-2
"""Where the first step changes x'w by less than this, so it does the Hessian: seven digits of that are enough."""
MIN_CURVATURE = 1e3 * HESSIAN_DAMPING
"""A direction with less curvature than this is not one that damping leaves alone."""


@dataclass(frozen=True)
class Maxima:
    """The maximum of each run's likelihood."""

    weights: np.ndarray
    converged: np.ndarray
    information: Sequence[np.ndarray | None]
    """The Hessian of each run at its weights, where the search left it behind."""

    def all_information(self, sample: Sample) -> np.ndarray:
        """Return the Hessian of each run at its weights: (runs, D, D)."""
        known = enumerate(self.information)
        return np.stack([self._hessian(sample.rows(run), run) if matrix is None else matrix for run, matrix in known])

    def _hessian(self, rows: Rows, run: int) -> np.ndarray:
        return RowExpansion(rows.x, rows.y, None, self.weights[run]).hessian


def maxima_of(sample: Sample) -> Maxima:
    """Return the maximum of each run's likelihood."""
    weights: list[np.ndarray] = []
    converged: list[bool] = []
    information: list[np.ndarray | None] = []
    for table in sample.tables():
        count = len(table.included(slice(0, 1)))
        together = _fit_together(table) if count > 1 else None
        for number, run in zip(range(count)[table.chosen], range(sample.runs)[table.runs], strict=True):
            if together is not None and together.converged[number]:
                weights.append(together.weights[number])
                converged.append(True)
                information.append(together.information[number])
            else:
                rows = sample.rows(run)
                maximum, reached = most_likely(rows.x, rows.y)
                weights.append(maximum)
                converged.append(reached)
                information.append(None)
    return Maxima(np.stack(weights), np.array(converged), information)


@dataclass(frozen=True)
class _Start:
    """The maximum of a whole table, and its loss around it."""

    weights: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    third: np.ndarray | None
    """The third derivative, (D, D, D), unless there are many columns."""
    slope: np.ndarray
    """The derivative of each row's loss along x'w, P[y = 1] - y."""
    curvature: np.ndarray
    """The second one."""
    mean_square: np.ndarray
    basis: np.ndarray
    """The directions in which the table's loss is curved, as columns: the others are flat for all of its runs."""

    def size(self, steps: np.ndarray) -> np.ndarray:
        """Return by how much each step changes x'w: its root mean square."""
        return np.asarray(np.sqrt(np.maximum(np.einsum("ri,ij,rj->r", steps, self.mean_square, steps), 0)))

    def newton(self, hessians: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        """Return each run's Newton step in the directions in which the loss is curved."""
        basis = self.basis
        damping = HESSIAN_DAMPING * np.eye(basis.shape[1])
        steps = np.linalg.solve(basis.T @ hessians @ basis + damping, -(gradients @ basis)[:, :, None])[:, :, 0]
        return np.asarray(steps @ basis.T)

    def bend(self, steps: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return by how much the Hessian of each run, which has this share of the rows, changes along its step: (runs, D, D)."""
        if self.third is None:
            return np.zeros((*steps.shape, steps.shape[1]))
        return np.asarray(np.einsum("ijk,rk->rij", self.third, steps * share[:, None]))


_last_start: OneEntryCache[tuple[Rows, _Start | None]] = OneEntryCache()
"""The repeats of most datasets share one table."""


def _start_of(rows: Rows) -> _Start | None:
    """Return the maximum of a whole table, if it has one. The last one is cached, by the table's identity."""
    # the entry holds the rows, so that no other ones get their identity
    return _last_start.get(id(rows), lambda: (rows, _fit_to_table(rows.x, rows.y)))[1]


def _fit_to_table(x: np.ndarray, y: np.ndarray) -> _Start | None:
    weights, converged = most_likely(x, y)
    around = RowExpansion(x, y, None, weights)
    values, vectors = np.linalg.eigh(around.hessian)
    curved = values >= max(CURVED * values[-1], MIN_CURVATURE)
    if not converged or not (curved | (values <= FLAT * values[-1])).all():
        return None
    basis = vectors[:, curved]
    chance = _probability(x @ weights)
    curvature = chance * (1 - chance)
    third = _third_derivative(x, curvature * (1 - 2 * chance))
    weights = basis @ (basis.T @ weights)
    return _Start(weights, around.gradient, around.hessian, third, chance - y, curvature, x.T @ x / len(x), basis)


def _third_derivative(x: np.ndarray, of_rows: np.ndarray) -> np.ndarray | None:
    """Return the sum of x ⊗ x ⊗ x over rows, times the third derivative of each row's loss along x'w."""
    columns = x.shape[1]
    if columns > MAX_COLUMNS_OF_THIRD:
        return None
    third = np.zeros((columns, columns, columns))
    for start in range(0, len(x), CHUNK):
        part = slice(start, start + CHUNK)
        weighted = x[part] * of_rows[part, None]
        for column in range(columns):
            third[column] += (weighted * x[part, column, None]).T @ x[part]
    return third


def _fit_together(table: TableOfRuns) -> Maxima | None:
    """Return the maxima of a table's runs, or None where the table has none to start from."""
    start = _start_of(table.rows)
    if start is None:
        return None
    sums = _Sums(table, start)
    step = start.newton(sums.start_hessian, sums.start_gradient)
    last = float(start.size(step).max())
    precision = np.float32 if last <= MAX_STEP_IN_FLOAT32 else np.float64
    # each derivative that is known leaves an error smaller by a factor of the distance δ, the length of the first step
    known = 1.0 if start.third is None else last
    last_step = min(LAST_STEP, HESSIAN_ERROR / max(known, HESSIAN_ERROR))
    exact, converged = last**2 * known <= last_step, np.zeros(len(step), dtype=bool)
    bend = start.bend(step, sums.share)
    hessian = sums.start_hessian + bend
    step += start.newton(hessian, np.einsum("rij,rj->ri", bend, step) / 2)
    weights = start.weights + step
    for _ in range(MAX_STEPS):
        if exact:
            gradient, hessian = sums.expansion(weights, precision)
        else:
            gradient = sums.gradient(weights)
        step = start.newton(hessian, gradient)
        weights = weights + step
        sizes = start.size(step)
        largest = float(sizes.max())
        if not np.isfinite(largest):
            return None
        converged = exact & (sizes <= last_step)
        if np.all(converged):
            break
        rate = largest / last
        exact = exact or rate > MAX_RATE or largest * rate <= last_step
        last = largest
    hessian = hessian + start.bend(step, sums.share)  # the Hessian after the last step
    return Maxima(weights, converged & _curved(start.basis.T @ hessian @ start.basis), list(hessian))


def _curved(hessians: np.ndarray) -> np.ndarray:
    """Return which runs' losses are curved in all of these directions: the rows of a run may lack a level that the table has."""
    values = np.linalg.eigvalsh(hessians)
    return np.asarray(values[:, 0] >= np.maximum(CURVED * values[:, -1], MIN_CURVATURE))


class _Sums:
    """Sums over the rows of a table for all of its runs, in blocks of rows, with the rows along the last axis."""

    def __init__(self, table: TableOfRuns, start: _Start) -> None:
        self._x, self._y, n = table.rows.x, table.rows.y, table.rows.n
        self._start_curvature = start.curvature
        runs = len(table.included(slice(0, 1)))
        size = max(NUMBERS_AT_A_TIME // (self._x.shape[1] * runs), 128)
        self._parts = [slice(first, first + size) for first in range(0, n, size)]
        self._included = [table.included(part) for part in self._parts]
        self.share = np.sum([included.sum(axis=1) for included in self._included], axis=0) / n
        """The share of the table's rows that each run has."""
        left_out = self._left_out(table, start)
        self.start_gradient = start.gradient - left_out[:, :-1, -1]
        """The gradient of each run's summed loss at the start: (runs, D)."""
        self.start_hessian = start.hessian - left_out[:, :-1, :-1]
        """Its Hessian: (runs, D, D)."""

    def _left_out(self, table: TableOfRuns, start: _Start) -> np.ndarray:
        """Return what the rows that each run leaves out add to the Hessian, and as another column to the gradient."""
        size = self._x.shape[1] + 1
        sums = np.zeros((len(self.share), size, size))
        for first in range(0, len(self._x), CHUNK):
            part = slice(first, first + CHUNK)
            root = np.sqrt(np.maximum(start.curvature[part], MIN_CURVATURE_OF_ROW))
            columns = np.empty((len(root), size))
            np.multiply(self._x[part], root[:, None], out=columns[:, :-1])
            np.divide(start.slope[part], root, out=columns[:, -1])
            for run, included in enumerate(table.included(part)):
                sums[run] += gram(np.take(columns, np.flatnonzero(~included), axis=0))
        return sums

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """Return the gradient of each run's summed loss at its own weights: (runs, D)."""
        gradient = np.zeros((len(self.share), weights.shape[1]))
        for part, included in zip(self._parts, self._included, strict=True):
            x = self._x[part]
            slope = _probability(weights @ x.T)
            slope -= self._y[part]
            gradient += (slope * included) @ x
        return gradient

    def expansion(self, weights: np.ndarray, precision: type[np.floating[Any]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the same, and the Hessian of each run: (runs, D, D). Its change since the start has this precision."""
        gradient, change = np.zeros_like(weights), np.zeros((*weights.shape, weights.shape[1]))
        for part, included in zip(self._parts, self._included, strict=True):
            xt = np.ascontiguousarray(self._x[part].T)
            chance = _probability(weights @ xt)
            slope = chance - self._y[part]
            slope *= included
            gradient += slope @ xt.T
            curvature = 1 - chance
            curvature *= chance
            curvature -= self._start_curvature[part]
            curvature *= included
            rounded = xt.astype(precision)
            weighted = curvature.astype(precision)[:, None] * rounded
            change += (weighted.reshape(-1, weighted.shape[2]) @ rounded.T).reshape(change.shape)
        return gradient, self.start_hessian + change


def _probability(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-t)), in place."""
    np.negative(log_odds, out=log_odds)
    with np.errstate(over="ignore"):  # an infinite denominator is a probability of 0
        np.exp(log_odds, out=log_odds)
    log_odds += 1
    return np.asarray(np.reciprocal(log_odds, out=log_odds))
