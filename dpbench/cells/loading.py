"""Load a cell's dataset and scale its rows. This happens on the worker, and again only for another dataset or repeat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.base.phases import phase
from dpbench.base.random_streams import stream
from dpbench.cells.cell import Cell
from dpbench.contracts.dataset import Dataset, doubt_about_bounds
from dpbench.contracts.model import Model
from dpbench.data.blocks import Block
from dpbench.data.geometry import Geometry
from dpbench.data.persons import Persons
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale, spreads_in_steps
from dpbench.data.splits import Splits
from dpbench.data.streamed_sums import StreamedSums
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.records.leaks import Leak

SELECTION_OPTIONS = frozenset(
    {
        *("path", "scaling", "sample_n", "attributes", "target", "threshold", "sensitive", "bounds", "levels"),
        *("person", "rows_per_person", "encoding", "header", "decimal", "thousands", "title", "resample", "stream"),
    }
)
"""Dataset options that select or rescale rows and columns; they do not change any random stream."""


@dataclass(frozen=True)
class ScaledTable:
    """The scaled rows of a table, what leaked while they were made, whose they are, and how many rows were left out."""

    rows: Rows
    leaks: tuple[Leak, ...]
    persons: Persons | None = None
    dropped: int = 0
    beyond_limit: int = 0
    bounds_doubt: str = ""
    """Why the bounds may follow from the rows, or an empty text."""

    @cached_property
    def spreads(self) -> np.ndarray:
        """The standard deviation of each feature column, in steps of the grid."""
        return spreads_in_steps(self.rows)


@dataclass(frozen=True)
class TableSummary:
    """What is known of a table without its rows."""

    geometry: Geometry
    rows: int
    """The number of rows that it counts as: public."""
    leaks: tuple[Leak, ...]
    dropped: int = 0
    beyond_limit: int = 0
    bounds_doubt: str = ""


class DatasetRows:
    """The rows of one dataset as one model sees them, repeat by repeat, and their true coefficients where these are known."""

    streamed = False
    """Whether rows are read again at every pass over them."""

    def __init__(self, dataset: Dataset, model: Model, splits: Splits, seed: int) -> None:
        self.dataset = dataset.for_target(model.target)
        self.model = model
        self.splits = splits
        self.seed = seed
        self.identity = identity(dataset)
        self._last_table: OneEntryCache[ScaledTable] = OneEntryCache()
        self._last_resample: OneEntryCache[ScaledTable] = OneEntryCache()
        self._coefficients: dict[int, np.ndarray] = {}
        """The true coefficients of each table that was loaded, so that asking for them does not load it again."""

    def scaled(self, repeat: int) -> ScaledTable:
        """Return the rows of a repeat: the same for all repeats, unless the dataset draws a table or resamples for each."""
        if self.dataset.resample:
            return self._last_resample.get(repeat, lambda: self._resample(repeat))
        return self._table(self._drawn(repeat))

    def take(self, sums: StreamedSums) -> None:
        """Use sums over a streamed table that were made elsewhere."""
        raise ValueError("Only a streamed table has sums without rows.")

    def facts(self, repeat: int) -> TableSummary:
        """Return what is known of a repeat's table without its rows."""
        table = self.scaled(repeat)
        doubt = table.bounds_doubt
        return TableSummary(table.rows.geometry, table.rows.public_n, table.leaks, table.dropped, table.beyond_limit, doubt)

    def clipped(self, repeat: int) -> tuple[float, tuple[float, ...]]:
        """Return the share of targets, and of each feature column's values, that lie outside the declared bounds."""
        rows = self.scaled(repeat).rows
        return rows.target_clipped, rows.features_clipped

    def spreads(self, repeat: int) -> np.ndarray:
        """Return the standard deviation of each feature column in steps of the grid: private, as the rows are."""
        return self.scaled(repeat).spreads

    def known_coefficients(self, runs: Sequence[tuple[int, int]]) -> np.ndarray:
        """Return the true coefficients of the rows of each run, a (repeat, fold): (runs, D), NaN where they are not known.

        If rows are resampled, the table is the population: the true coefficients are the non-private fit to all of it.
        """
        return np.stack([self._coefficients_of(repeat) for repeat, _ in runs])

    def _coefficients_of(self, repeat: int) -> np.ndarray:
        if self.dataset.resample:
            return self._fit_to_table
        drawn = self._drawn(repeat)
        if drawn not in self._coefficients:
            self._table(drawn)
        return self._coefficients[drawn]

    def _drawn(self, repeat: int) -> int:
        """Return the name of a repeat's table in the random streams."""
        return repeat if self.dataset.redrawn() else -1

    def _table(self, drawn: int) -> ScaledTable:
        return self._last_table.get(drawn, lambda: self._scale(drawn))

    @phase("load")
    def _resample(self, repeat: int) -> ScaledTable:
        table = self._table(-1)
        rows = table.rows
        index = np.sort(stream(self.seed, self.identity, "resample", repeat).integers(rows.n, size=rows.n))
        return replace(table, rows=replace(rows, z=rows.z[index], coefficients=None))

    @cached_property
    def _fit_to_table(self) -> np.ndarray:
        """The weights (D,) of the non-private fit to all rows of the table, before they are resampled."""
        sample = WholeSample(self._table(-1).rows)
        problem = self.model.prepare(closed(Curator(sample, Draws(self.seed, self.identity, [(-1, 0)]), Budget())))
        return np.asarray(problem.exact(sample).weights[0])

    @phase("load")
    def _scale(self, drawn: int) -> ScaledTable:
        table = self.dataset.select(stream(self.seed, self.identity, "table", drawn))
        rows = scale(table, self.dataset.scaling, self.model.intercept, self.model.target)
        unknown = np.full(rows.geometry.dimension, np.nan)
        self._coefficients[drawn] = unknown if rows.coefficients is None else rows.coefficients
        doubt = doubt_about_bounds(self.dataset, table)
        return ScaledTable(rows, table.leaks, table.persons, table.dropped, table.beyond_limit, doubt)

    def labels(self, repeat: int) -> np.ndarray:
        """Return the part that every row belongs to in a repeat; all rows of a person belong to the same part."""
        table = self.scaled(repeat)
        if self.splits.by == "blocks" and table.persons is not None:
            raise Refused(
                "With splits.by=blocks each row is a person of its own: leave out dataset.person, or set splits.by=rows."
            )
        units = table.rows.n if table.persons is None else table.persons.count
        parts = self.splits.assign(units, self.dataset.rows_per_repeat(units), self.seed, self.identity, repeat)
        return parts if table.persons is None else parts[table.persons.of_row]

    def part_sizes(self, repeat: int = 0) -> np.ndarray:
        """Return the number of rows in each part: public, because n is, or the number of persons and of the rows of each."""
        table = self.scaled(repeat)
        units, rows_each = (table.rows.n, 1) if table.persons is None else (table.persons.count, table.persons.rows_each)
        if self.splits.by == "blocks":
            return self.splits.block_sizes(units, self.seed, self.identity, repeat)
        return self.splits.sizes(self.dataset.rows_per_repeat(units)) * rows_each

    def block(self, repeats: Sequence[int]) -> Block:
        """Return the sums over rows of consecutive repeats."""
        # a table with persons is the same for all repeats
        counts = None if self.scaled(repeats[0]).persons is None else self.part_sizes(repeats[0])
        parts, tests = self.splits.parts, self.splits.tests
        return Block(
            lambda repeat: self.scaled(repeat).rows, self.labels, repeats, parts, tests, counts, self.splits.by == "blocks"
        )


def identity(dataset: Dataset) -> str:
    """Return what names a dataset in the random streams. Selecting rows or columns keeps all other draws as they are."""
    options = {name: value for name, value in dataset.options().items() if name not in SELECTION_OPTIONS}
    return f"{dataset.name} {sorted(options.items())}"


def rows_of(cell: Cell) -> DatasetRows:
    """Return the rows of a cell's dataset as its model sees them; the last ones are cached."""
    return last_rows.get(
        cell.shared, lambda: dataset_rows(cell.build("dataset"), cell.build("model"), cell.splits, cell.settings.seed)
    )


def dataset_rows(dataset: Dataset, model: Model, splits: Splits, seed: int) -> DatasetRows:
    """Return the rows of a dataset as a model sees them: loaded, or streamed where the dataset says so."""
    if dataset.streams():
        from dpbench.cells.streaming import StreamedRows  # it builds on this module

        return StreamedRows(dataset, model, splits, seed)
    return DatasetRows(dataset, model, splits, seed)


last_rows: OneEntryCache[DatasetRows] = OneEntryCache()
