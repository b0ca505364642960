"""From a dataset's specification to scaled rows: made where they are needed, kept for the next unit of the same process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpbench.base.random_streams import stream
from dpbench.cells.cell import Cell
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.model import Model
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.records.leaks import Leak
from dpbench.registry.lookup import registry

SELECTING = frozenset({"path", "scaling", "sample_n", "attributes", "target", "threshold", "sensitive", "bounds", "levels"})
"""Options of a dataset that change where a table lies or what is seen of it, and nothing of its draws."""


@dataclass(frozen=True)
class Scaled:
    """A table's scaled rows, what leaked on the way, and how many rows were left out for missing values."""

    rows: Rows
    leaks: tuple[Leak, ...]
    dropped: int = 0


class DatasetRows:
    """The rows of one dataset as one model sees them, repeat by repeat."""

    def __init__(self, dataset: Dataset, model: Model, splits: Splits, seed: int) -> None:
        self.dataset = dataset.for_target(model.target)
        self.model = model
        self.splits = splits
        self.seed = seed
        self.identity = identity(dataset)
        self._scaled: tuple[int, Scaled] | None = None

    def scaled(self, repeat: int) -> Scaled:
        """The rows of a repeat: the same ones, unless the dataset draws a table for each."""
        drawn = repeat if self.dataset.redrawn() else -1
        if self._scaled is None or self._scaled[0] != drawn:
            table = self.dataset.table(stream(self.seed, self.identity, "table", drawn))
            rows = scale(table, self.dataset.scaling, self.model.intercept, self.model.target)
            self._scaled = drawn, Scaled(rows, table.leaks, table.dropped)
        return self._scaled[1]

    def labels(self, repeat: int) -> np.ndarray:
        """The part of every row in a repeat."""
        rows = self.scaled(repeat).rows.n
        return self.splits.assign(rows, self.dataset.rows_per_repeat(rows), self.seed, self.identity, repeat)

    def block(self, repeats: Sequence[int]) -> Block:
        """The statistics of a block of repeats."""
        return Block(lambda repeat: self.scaled(repeat).rows, self.labels, repeats, self.splits.parts, self.splits.tests)


def identity(dataset: Dataset) -> str:
    """What names a dataset in the random streams: options that select rows or columns leave the others' draws alone."""
    chosen = {name: value for name, value in dataset.options().items() if name not in SELECTING}
    return f"{dataset.name} {sorted(chosen.items())}"


def source_of(cell: Cell) -> DatasetRows:
    """The source that a cell's rows come from; the last one is kept."""
    return _source(cell.shared, _Unhashed(cell))


class _Unhashed:
    """A cell that is not part of the cache's key: its ``shared`` digest says all that matters here."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashed)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=1)
def _source(shared: str, unhashed: _Unhashed) -> DatasetRows:
    cell = unhashed.cell
    dataset = registry().get("dataset", cell.dataset.name).build(cell.dataset.options)
    model = registry().get("model", cell.model.name).build(cell.model.options)
    return DatasetRows(dataset, model, cell.splits, cell.settings.seed)
