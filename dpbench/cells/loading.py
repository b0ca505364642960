"""Load a cell's dataset and scale its rows. This happens on the worker, and again only for another dataset or repeat."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.base.random_streams import stream
from dpbench.cells.cell import Cell
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.model import Model
from dpbench.data.blocks import Block
from dpbench.data.persons import Persons
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.records.leaks import Leak

SELECTION_OPTIONS = frozenset(
    {
        *("path", "scaling", "sample_n", "attributes", "target", "threshold", "sensitive", "bounds", "levels"),
        *("person", "rows_per_person", "encoding", "header", "decimal", "thousands", "title"),
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


class DatasetRows:
    """The rows of one dataset as one model sees them, repeat by repeat."""

    def __init__(self, dataset: Dataset, model: Model, splits: Splits, seed: int) -> None:
        self.dataset = dataset.for_target(model.target)
        self.model = model
        self.splits = splits
        self.seed = seed
        self.identity = identity(dataset)
        self._last_table: OneEntryCache[ScaledTable] = OneEntryCache()

    def scaled(self, repeat: int) -> ScaledTable:
        """Return the rows of a repeat: the same for all repeats, unless the dataset draws a table for each."""
        drawn = repeat if self.dataset.redrawn() else -1
        return self._last_table.get(drawn, lambda: self._scale(drawn))

    def _scale(self, drawn: int) -> ScaledTable:
        table = self.dataset.select(stream(self.seed, self.identity, "table", drawn))
        rows = scale(table, self.dataset.scaling, self.model.intercept, self.model.target)
        return ScaledTable(rows, table.leaks, table.persons, table.dropped, table.beyond_limit)

    def labels(self, repeat: int) -> np.ndarray:
        """Return the part that every row belongs to in a repeat; all rows of a person belong to the same part."""
        table = self.scaled(repeat)
        units = table.rows.n if table.persons is None else table.persons.count
        parts = self.splits.assign(units, self.dataset.rows_per_repeat(units), self.seed, self.identity, repeat)
        return parts if table.persons is None else parts[table.persons.of_row]

    def part_sizes(self, repeat: int = 0) -> np.ndarray:
        """Return the number of rows in each part: public, because n is, or the number of persons and of the rows of each."""
        table = self.scaled(repeat)
        units, rows_each = (table.rows.n, 1) if table.persons is None else (table.persons.count, table.persons.rows_each)
        return self.splits.sizes(self.dataset.rows_per_repeat(units)) * rows_each

    def block(self, repeats: Sequence[int]) -> Block:
        """Return the sums over rows of consecutive repeats."""
        # a table with persons is the same for all repeats
        counts = None if self.scaled(repeats[0]).persons is None else self.part_sizes(repeats[0])
        parts, tests = self.splits.parts, self.splits.tests
        return Block(lambda repeat: self.scaled(repeat).rows, self.labels, repeats, parts, tests, counts)


def identity(dataset: Dataset) -> str:
    """Return what names a dataset in the random streams. Selecting rows or columns keeps all other draws as they are."""
    options = {name: value for name, value in dataset.options().items() if name not in SELECTION_OPTIONS}
    return f"{dataset.name} {sorted(options.items())}"


def rows_of(cell: Cell) -> DatasetRows:
    """Return the rows of a cell's dataset as its model sees them; the last ones are cached."""
    return last_rows.get(
        cell.shared, lambda: DatasetRows(cell.build("dataset"), cell.build("model"), cell.splits, cell.settings.seed)
    )


last_rows: OneEntryCache[DatasetRows] = OneEntryCache()
