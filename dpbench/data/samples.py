"""Samples: the rows of every run of a block, seen through sums."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np

from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.base.read_only import read_only
from dpbench.data.bins import BinCounts, Binning, Partition
from dpbench.data.geometry import Geometry
from dpbench.data.moments import EXACT_ROWS, Moments, exact_gram, from_multiples, gram
from dpbench.data.scaling import Rows


class Summand(Hashable, Protocol):
    """The part of a query that a sample needs: what each row contributes to the sum."""

    state: np.ndarray | None

    @property
    def size(self) -> int: ...

    def contribution(self, rows: Rows, run: int) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class TableOfRuns:
    """A table of which consecutive runs have a part each, for computations whose passes over its rows serve all of them."""

    runs: slice
    rows: Rows
    included: Callable[[slice], np.ndarray]
    """Returns which of some rows each run of the table has: (runs of the table, rows)."""
    chosen: slice = field(default_factory=lambda: slice(None))
    """Which runs of the table ``runs`` are: all of them, unless the sample holds one run of a block."""


def _columns(array: np.ndarray, columns: slice) -> np.ndarray:
    return np.asarray(array[:, columns])


class Sample(ABC):
    """The training rows, or the test rows, of every run of a block, seen through sums."""

    geometry: Geometry
    runs: int

    @property
    @abstractmethod
    def n(self) -> np.ndarray:
        """The number of rows that each run counts as: public. :attr:`Moments.n` has the number of rows itself."""

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """The second moments of each run's rows."""

    @abstractmethod
    def rows(self, run: int) -> Rows:
        """Return the rows of one run, for callers that cannot do with sums."""

    def chunks(self, run: int) -> Iterator[Rows]:
        """Yield the rows of one run in order, a constant number at a time: for passes that need no copy of all of them."""
        return self.rows(run).chunks()

    def scores(self, run: int, vectors: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the targets of one run's rows, and x'v of each row for each vector, in one pass over the rows."""
        n = int(self.moments.n[run])
        targets, products, first = np.empty(n), [np.empty(n) for _ in vectors], 0
        for chunk in self.chunks(run):
            x, written = chunk.x, slice(first, first + chunk.n)
            targets[written] = chunk.y
            for vector, product in zip(vectors, products, strict=True):
                if chunk.n == 1 and first:
                    # A single row would be a dot product, whose last bit may differ from that of the product with a matrix. So
                    # the row is last of 17, as it was last of all rows: libraries multiply rows by fours, eights or sixteens.
                    product[written] = (np.repeat(x, 17, axis=0) @ vector)[-1]
                else:
                    np.matmul(x, vector, out=product[written])
            first = written.stop
        return targets, products

    def tables(self) -> Iterator[TableOfRuns]:
        """Yield the tables of all runs in order. They depend on how rows are split, and not on which repeats a block holds."""
        for run in range(self.runs):
            rows = self.rows(run)
            every = np.ones((1, rows.n), dtype=bool)
            yield TableOfRuns(slice(run, run + 1), rows, partial(_columns, every))

    @property
    def half_range(self) -> np.ndarray:
        """Half the target's declared range in its own unit, for each run."""
        return read_only(np.full(self.runs, self.geometry.half_range))

    def sums(self, query: Summand) -> np.ndarray:
        """Sum the query's contributions over the rows of each run: (runs, size)."""
        return read_only(np.stack([sum_contributions(query, self.chunks(run), run) for run in range(self.runs)]))

    def bins(self, partition: Partition, run: int) -> np.ndarray:
        """Return the bin of each of a run's rows: (rows, integers per index)."""
        return partition.locate(self.rows(run))

    def bin_counts(self, binning: Binning, run: int) -> BinCounts:
        """Count one run's rows in the bins that they fill."""
        return binning.count(self.bins(binning, run))

    def __deepcopy__(self, memo: object) -> "Sample":
        return self  # rows never change, and tables may be large

    def for_run(self, run: int) -> "Sample":
        """Return a sample that holds one run only."""
        return _OneRun(self, run)

    def without(self, attributes: Collection[str]) -> "Sample":
        """Return the same rows without these attributes."""
        return _Narrow(self, attributes)


class WholeSample(Sample):
    """A whole table for each run, all of one geometry: what a release, an audit and a timing fit on.

    The same table may be passed for many runs, which then differ by their noise alone; its sums are computed once.
    """

    def __init__(self, *tables: Rows) -> None:
        self._tables = list({id(rows): rows for rows in tables}.values())
        position = {id(rows): at for at, rows in enumerate(self._tables)}
        self._table_of_run = [position[id(rows)] for rows in tables]
        self.runs = len(tables)
        self.geometry = tables[0].geometry
        self._bins = OneEntryCache[np.ndarray]()

    @property
    def n(self) -> np.ndarray:
        return read_only(np.array([float(rows.public_n) for rows in self._tables])[self._table_of_run])

    @cached_property
    def moments(self) -> Moments:
        return Moments(np.stack([_gram(rows.z) for rows in self._tables])[self._table_of_run], self.geometry)

    def sums(self, query: Summand) -> np.ndarray:
        if query.state is not None:
            return super().sums(query)
        return read_only(np.stack([sum_contributions(query, rows.chunks(), 0) for rows in self._tables])[self._table_of_run])

    def rows(self, run: int) -> Rows:
        return self._tables[self._table_of_run[run]]

    def bins(self, partition: Partition, run: int) -> np.ndarray:
        table = self._table_of_run[run]
        return self._bins.get((partition, table), lambda: read_only(partition.locate(self._tables[table])))


class _View(Sample):
    """Runs of another sample."""

    def __init__(self, sample: Sample, runs: slice, geometry: Geometry) -> None:
        self._sample = sample
        self._runs = runs
        self.runs = len(range(sample.runs)[runs])
        self.geometry = geometry

    @property
    def n(self) -> np.ndarray:
        return self._sample.n[self._runs]

    @property
    def half_range(self) -> np.ndarray:
        return self._sample.half_range[self._runs]


class _OneRun(_View):
    """One run of another sample."""

    def __init__(self, sample: Sample, run: int) -> None:
        super().__init__(sample, slice(run, run + 1), sample.geometry)

    @property
    def moments(self) -> Moments:
        return Moments(self._sample.moments.gram[self._runs], self.geometry)

    def sums(self, query: Summand) -> np.ndarray:
        # a state belongs to this run alone, so the sums of the whole sample would not fit it
        return self._sample.sums(query)[self._runs] if query.state is None else super().sums(query)

    def rows(self, run: int) -> Rows:
        return self._sample.rows(self._runs.start)

    def tables(self) -> Iterator[TableOfRuns]:
        # with the other runs of the table, so that what is computed for all of them has the same bits
        for table in self._sample.tables():
            if table.runs.start <= self._runs.start < table.runs.stop:
                chosen = range(len(table.included(slice(0, 1))))[table.chosen][self._runs.start - table.runs.start]
                yield replace(table, runs=slice(0, 1), chosen=slice(chosen, chosen + 1))

    def chunks(self, run: int) -> Iterator[Rows]:
        return self._sample.chunks(self._runs.start)

    def bins(self, partition: Partition, run: int) -> np.ndarray:
        return self._sample.bins(partition, self._runs.start)

    def bin_counts(self, binning: Binning, run: int) -> BinCounts:
        return self._sample.bin_counts(binning, self._runs.start)


class _Narrow(_View):
    """Another sample without some of its columns."""

    def __init__(self, sample: Sample, attributes: Collection[str]) -> None:
        super().__init__(sample, slice(None), sample.geometry.without(attributes))
        remaining = [1 + index for index in sample.geometry.columns_without(attributes)]
        self._columns = np.array([0, *remaining, sample.geometry.features + 1])

    @property
    def moments(self) -> Moments:
        return Moments(self._sample.moments.gram[:, self._columns[:, None], self._columns], self.geometry)

    def rows(self, run: int) -> Rows:
        return self._narrow(self._sample.rows(run))

    def chunks(self, run: int) -> Iterator[Rows]:
        return map(self._narrow, self._sample.chunks(run))

    def tables(self) -> Iterator[TableOfRuns]:
        return (replace(table, rows=self._narrow(table.rows)) for table in self._sample.tables())

    def _narrow(self, rows: Rows) -> Rows:
        return Rows(np.take(rows.z, self._columns, axis=1), self.geometry, persons=rows.persons)


def _gram(z: np.ndarray) -> np.ndarray:
    """Return z'z: exact for scaled rows, however many; few rows may be made up, and be on no grid."""
    return gram(z) if len(z) <= EXACT_ROWS else from_multiples(exact_gram(z))


def sum_contributions(query: Summand, chunks: Iterable[Rows], run: int) -> np.ndarray:
    """Sum a query's contributions over rows, chunk by chunk."""
    total = np.zeros(query.size)
    for chunk in chunks:
        total += row_contributions(query, chunk, run).sum(axis=0)
    return read_only(total)


def row_contributions(query: Summand, rows: Rows, run: int) -> np.ndarray:
    """Return what each row adds to a query's answer, which must be one vector per row: (rows, size)."""
    # sums of single precision would depend on the order of the rows
    parts, shape = np.asarray(query.contribution(rows, run), dtype=float), (rows.n, query.size)
    if parts.shape != shape:
        raise ValueError(f"The contributions to a query must have the shape (rows, size) = {shape}. Got {parts.shape} instead.")
    return parts
