"""The maximum of a logistic likelihood for many runs whose rows are parts of one table, as in cross-validation.

The training rows of two folds overlap, so their maxima lie close to that of the whole table. All runs of a repeat start there and
take their steps together: one pass over the table serves all of them. With the whole table's Hessian, scaled by the number of
rows, the error of a step shrinks by about 1/√n each time (a chord method), and a last step with each run's own Hessian, which the
standard errors need as well, squares it.

What a run gets depends on the table of its repeat and on how that is split, never on other repeats. A run on which this does
not converge, or whose rows leave another direction flat than the table's, is fitted alone, from w = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.data.samples import Sample, TableOfRuns
from dpbench.data.scaling import Rows

from ._newton import HESSIAN_DAMPING, RowExpansion, most_likely

MAX_STEPS = 12
MAX_RATE = 0.1
"""Where a chord step does not shrink to this fraction of the last one, each run gets its own Hessian."""
LAST_STEP = 1e-9
"""The last step changes x'w by less than this (root mean square), so that the Hessian before it is that of the maximum."""
NUMBERS_AT_A_TIME = 2**16
"""Numbers of a block of rows: it stays in the processor's cache."""
CURVED, FLAT = 1e-9, 1e-12
"""A direction has curvature above the first, relative to the largest, and none below the second."""
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
    """The maximum of a whole table."""

    weights: np.ndarray
    hessian: np.ndarray
    mean_square: np.ndarray
    basis: np.ndarray
    """The directions in which the table's loss is curved, as columns: the others are flat for all of its runs."""


_last_start: OneEntryCache[tuple[Rows, _Start | None]] = OneEntryCache()
"""The repeats of most datasets share one table."""


def _start_of(rows: Rows) -> _Start | None:
    """Return the maximum of a whole table, if it has one. The last one is cached, by the table's identity."""
    # the entry holds the rows, so that no other ones get their identity
    return _last_start.get(id(rows), lambda: (rows, _fit_to_table(rows.x, rows.y)))[1]


def _fit_to_table(x: np.ndarray, y: np.ndarray) -> _Start | None:
    weights, converged = most_likely(x, y)
    hessian = RowExpansion(x, y, None, weights).hessian
    values, vectors = np.linalg.eigh(hessian)
    curved = values >= max(CURVED * values[-1], MIN_CURVATURE)
    if not converged or not (curved | (values <= FLAT * values[-1])).all():
        return None
    basis = vectors[:, curved]
    return _Start(basis @ (basis.T @ weights), hessian, x.T @ x / len(x), basis)


def _fit_together(table: TableOfRuns) -> Maxima | None:
    """Return the maxima of a table's runs, or None where the table has none to start from."""
    start = _start_of(table.rows)
    if start is None:
        return None
    sums, basis = _Sums(table), start.basis
    damping = HESSIAN_DAMPING * np.eye(basis.shape[1])
    weights = start.weights[None]
    hessian = start.hessian * sums.share[:, None, None]
    largest_steps: list[float] = []
    exact = converged = False
    for _ in range(MAX_STEPS):
        if exact:
            gradient, hessian = sums.expansion(weights)
        else:
            gradient = sums.gradient(weights)
        step = -np.linalg.solve(basis.T @ hessian @ basis + damping, (gradient @ basis)[:, :, None])[:, :, 0] @ basis.T
        weights = weights + step
        sizes = np.sqrt(np.maximum(np.einsum("ri,ij,rj->r", step, start.mean_square, step), 0))
        largest_steps.append(float(sizes.max()))
        if not np.isfinite(largest_steps[-1]):
            return None
        converged = exact & (sizes <= LAST_STEP)
        if np.all(converged):
            break
        if len(largest_steps) > 1:
            rate = largest_steps[-1] / largest_steps[-2]
            exact = exact or rate > MAX_RATE or largest_steps[-1] * rate <= LAST_STEP
    return Maxima(weights, converged & _curved(basis.T @ hessian @ basis), list(hessian))


def _curved(hessians: np.ndarray) -> np.ndarray:
    """Return which runs' losses are curved in all of these directions: the rows of a run may lack a level that the table has."""
    values = np.linalg.eigvalsh(hessians)
    return np.asarray(values[:, 0] >= np.maximum(CURVED * values[:, -1], MIN_CURVATURE))


class _Sums:
    """Sums over the rows of a table for all of its runs, in blocks of rows, with the rows along the last axis."""

    def __init__(self, table: TableOfRuns) -> None:
        self._x, self._y, n = table.rows.x, table.rows.y, table.rows.n
        runs = len(table.included(slice(0, 1)))
        size = max(NUMBERS_AT_A_TIME // (self._x.shape[1] * runs), 128)
        self._parts = [slice(start, start + size) for start in range(0, n, size)]
        self._included = [table.included(part) for part in self._parts]
        self.share = np.sum([included.sum(axis=1) for included in self._included], axis=0) / n
        """The share of the table's rows that each run has."""

    def gradient(self, weights: np.ndarray) -> np.ndarray:
        """Return the gradient of each run's summed loss at its own weights, or at the same ones: (runs, D)."""
        gradient = np.zeros((len(self.share), weights.shape[1]))
        for part, included in zip(self._parts, self._included, strict=True):
            x = self._x[part]
            slope = _probability(weights @ x.T)
            slope -= self._y[part]
            gradient += (slope * included) @ x
        return gradient

    def expansion(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same, and the Hessian of each run: (runs, D, D)."""
        gradient, hessian = np.zeros_like(weights), np.zeros((*weights.shape, weights.shape[1]))
        for part, included in zip(self._parts, self._included, strict=True):
            x = self._x[part]
            xt = np.ascontiguousarray(x.T)
            chance = _probability(weights @ xt)
            slope = chance - self._y[part]
            slope *= included
            gradient += slope @ x
            curvature = chance * (1 - chance)
            curvature *= included
            for run, curvatures in enumerate(curvature):
                hessian[run] += (xt * curvatures) @ xt.T
        return gradient, hessian


def _probability(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-t)), in place."""
    np.negative(log_odds, out=log_odds)
    with np.errstate(over="ignore"):  # an infinite denominator is a probability of 0
        np.exp(log_odds, out=log_odds)
    log_odds += 1
    return np.asarray(np.reciprocal(log_odds, out=log_odds))
