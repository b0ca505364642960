"""The fits of a block's cells, and how several of them are scored in one pass over the rows.

To gather the rows of a run costs more than to score them, so metrics that need rows, such as the log loss, are computed for the
fits of a few cells together.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpbench.cells.cell import Cell
from dpbench.cells.failures import CAUGHT
from dpbench.cells.scoring import finite_weights
from dpbench.cells.time_limit import within
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.metric import Metric, Predictions, evaluate_together
from dpbench.data.samples import Sample
from dpbench.privacy.ledger import Budget, Ledger

MAX_SCORED_TOGETHER = 8
"""Fits whose scores of a run's rows are in memory at once, if they take no more than :data:`MAX_BYTES_OF_SCORES`."""
MAX_BYTES_OF_SCORES = 2**28
MAX_COLUMNS_SCORED_TOGETHER = 128
"""With more columns the fits themselves may fill the memory, so that each is made and scored alone."""


@dataclass(frozen=True)
class CellFit:
    """A mechanism's fit on a block; cells that differ only by the attack share it."""

    mechanism: Mechanism
    budget: Budget
    fit: Fit
    ledger: Ledger
    seconds: float | None
    """The time of one fit from rows; measured on the block with the first repeat."""
    violation: str = ""
    """What the checks of the fit itself found."""
    check_seconds: float = 0.0
    """What these checks took."""


@dataclass(frozen=True)
class PreparedFit:
    """A fit that was made, and scored if possible, together with those of other cells, before its own cell's turn."""

    fitted: CellFit | BaseException
    """The fit, or why it failed."""
    seconds: float
    """What making and scoring it took."""
    scores: dict[str, np.ndarray] | None = None
    """The metrics of its predictions."""


def scored_together(test: Sample) -> int:
    """Return how many fits are scored in one pass over the rows: at least one, however many rows a run tests on."""
    return min(MAX_SCORED_TOGETHER, max(1, MAX_BYTES_OF_SCORES // (8 * int(test.n.max()))))


def worth_preparing(cells: Sequence[Cell], metrics: list[Metric], test: Sample) -> bool:
    """Return whether these cells, each with a fit of its own, are better scored together."""
    reads_rows = any(metric.compute_run is not None for metric in metrics)
    return len(cells) > 1 and reads_rows and test.geometry.dimension <= MAX_COLUMNS_SCORED_TOGETHER


def prepared_fits(
    cells: Sequence[Cell], fit: Callable[[Cell], CellFit], metrics: list[Metric], test: Sample, limit: float | None
) -> dict[str, PreparedFit]:
    """Make the fits of these cells and score them in one pass over the rows; ``limit``: the seconds that a cell may take."""
    prepared = {cell.fit: _attempt(fit, cell, limit) for cell in cells}
    fits = {key: one.fitted.fit for key, one in prepared.items() if isinstance(one.fitted, CellFit)}
    if not fits:
        return prepared
    start = time.perf_counter()
    predictions = [Predictions(finite_weights(made)[1], test) for made in fits.values()]
    try:
        scores = within(limit and limit * len(fits), lambda: evaluate_together(metrics, predictions))
    except CAUGHT:
        return prepared  # each cell is scored alone, and says what failed
    share = (time.perf_counter() - start) / len(fits)
    for key, values in zip(fits, scores, strict=True):
        prepared[key] = replace(prepared[key], scores=values, seconds=prepared[key].seconds + share)
    return prepared


def _attempt(fit: Callable[[Cell], CellFit], cell: Cell, limit: float | None) -> PreparedFit:
    start = time.perf_counter()
    try:
        fitted: CellFit | BaseException = within(limit, lambda: fit(cell))
    except CAUGHT as error:
        fitted = error
    return PreparedFit(fitted, time.perf_counter() - start)
