"""Blocks of repeats: one pass over the rows of a repeat gives every fold's sums, and training is the total minus the fold."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.base.phases import phase
from dpbench.base.read_only import read_only
from dpbench.data.bins import BinCounts, Binning, Partition
from dpbench.data.moments import EXACT_ROWS, Moments, from_multiples, gram, whole_multiples
from dpbench.data.samples import Sample, Summand, TableOfRuns, sum_contributions
from dpbench.data.scaling import CHUNK, Rows
from dpbench.data.splits import BLOCK_ROWS

MAX_BYTES_OF_COUNTS = 2**27
"""Memory for the counts of a histogram's bins, which the next ε needs again. Those of further runs are counted each time."""


@dataclass(eq=False)
class Block:
    """Consecutive repeats of one dataset on one kind of split; ``train`` and ``test`` are its two samples."""

    rows_of: Callable[[int], Rows]
    """Returns the rows of a repeat: the same ones, unless the dataset draws a table for each repeat."""
    labels_of: Callable[[int], np.ndarray]
    """Returns the part that each row of a repeat belongs to; run f of a repeat tests on part f."""
    repeats: Sequence[int]
    parts: int
    tests: int
    public_counts: np.ndarray | None = None
    """The number of rows that each part of a repeat counts as, where that is not the number of its labels."""
    by_blocks: bool = False
    """Whether blocks of consecutive rows were assigned to parts."""

    def __post_init__(self) -> None:
        self.labels = cache(lambda repeat: read_only(self.labels_of(repeat)))
        self._sums: dict[tuple[int, Summand], np.ndarray] = {}
        self._half_ranges: dict[int, float] = {}
        self._bins: tuple[Partition, Rows, np.ndarray] | None = None
        self._occurring = OneEntryCache[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]()
        self._part_counts = OneEntryCache[tuple[np.ndarray, np.ndarray]]()
        self.geometry = self.rows(self.repeats[0]).geometry
        self.train: Sample = BlockSample(self, training=True)
        self.test: Sample = BlockSample(self, training=False)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The (repeat, fold) of every run of the block, in order."""
        return [(repeat, fold) for repeat in self.repeats for fold in range(self.tests)]

    def rows(self, repeat: int) -> Rows:
        """Return all rows of a repeat."""
        rows = self.rows_of(repeat)
        self._half_ranges[repeat] = rows.geometry.half_range
        return rows

    def half_range(self, repeat: int) -> float:
        """Return half the target's declared range: a table that is drawn for each repeat may declare another one."""
        if repeat not in self._half_ranges:
            self.rows(repeat)
        return self._half_ranges[repeat]

    @cached_property
    @phase("statistics")
    def counts(self) -> np.ndarray:
        """The public number of rows of each part: (repeats, parts)."""
        if self.public_counts is not None:
            return np.tile(self.public_counts.astype(float), (len(self.repeats), 1))
        labels = [self.labels(repeat) for repeat in self.repeats]
        counts = [[np.count_nonzero(of_rows == part) for part in range(self.parts)] for of_rows in labels]
        return read_only(np.array(counts, dtype=float))

    @cached_property
    @phase("statistics")
    def grams(self) -> np.ndarray:
        """The sums of products of two columns, as whole multiples of 2^-32: (repeats, parts, d + 2, d + 2)."""
        grams = [self._grams_of_table(rows, labels) for rows, labels in self._tables()]
        return read_only(np.concatenate(grams))

    def _tables(self) -> Iterator[tuple[Rows, list[np.ndarray]]]:
        """Yield each table of the block with the labels of the repeats that split it, which follow each other."""
        table, labels = self.rows(self.repeats[0]), [self.labels(self.repeats[0])]
        for repeat in self.repeats[1:]:
            rows = self.rows(repeat)
            if rows is not table:
                yield table, labels
                table, labels = rows, []
            labels.append(self.labels(repeat))
        yield table, labels

    def _grams_of_table(self, rows: Rows, labels: Sequence[np.ndarray]) -> np.ndarray:
        """Return the multiples of 2^-32 that :attr:`grams` holds, of each part of each repeat of one table.

        The repeats take turns on a chunk of rows, which stays in the processor's cache together with the rows that are
        gathered from it. Where all rows are sampled, the largest part of each repeat is the table's total minus the others.
        """
        columns, sizes = rows.z.shape[1], self.counts[0]
        multiples = np.zeros((len(labels), self.parts, columns, columns), dtype=np.int64)
        total = np.zeros((columns, columns), dtype=np.int64)
        largest = int(np.argmax(sizes))
        # the total costs a pass over the table, each repeat's largest part a pass over its rows
        by_total = len(labels) * sizes[largest] > sizes.sum() and all(of_rows.min() >= 0 for of_rows in labels)
        gathered = [part for part in range(self.parts) if part != largest or not by_total]
        buffer = np.empty((min(CHUNK, rows.n), columns))
        for first in range(0, rows.n, EXACT_ROWS):  # sums over more rows are not exact in float64
            sums, of_all = np.zeros(multiples.shape), np.zeros(total.shape)
            last = min(first + EXACT_ROWS, rows.n)
            for start in range(first, last, CHUNK):
                chunk = slice(start, min(start + CHUNK, last))
                z = rows.z[chunk]
                if by_total:
                    of_all += gram(z)
                for repeat, of_rows in enumerate(labels):
                    of_chunk = of_rows[chunk]
                    for part in gathered:
                        index = np.flatnonzero(of_chunk == part)
                        chosen = np.take(z, index, axis=0, out=buffer[: len(index)], mode="clip")  # other modes copy the buffer
                        sums[repeat, part] += gram(chosen)
            multiples += whole_multiples(sums)
            total += whole_multiples(of_all)
        if by_total:
            multiples[:, largest] = total - multiples.sum(axis=1)
        return multiples

    @phase("statistics")
    def sums(self, query: Summand) -> np.ndarray:
        """Return the sums of a query without state: (repeats, parts, size)."""
        # the class is part of the key by its identity, so that no query can pass for one of another class
        key = id(type(query)), query
        if key not in self._sums:
            sums = []
            for repeat in self.repeats:
                rows, labels = self.rows(repeat), self.labels(repeat)
                parts = (rows.take(np.flatnonzero(labels == part)) for part in range(self.parts))
                sums.append([sum_contributions(query, part.chunks(), 0) for part in parts])
            self._sums[key] = read_only(np.array(sums))
        return self._sums[key]

    @phase("statistics")
    def bins(self, partition: Partition, repeat: int) -> np.ndarray:
        """Return the bin of every row of a repeat; the last result is cached."""
        rows = self.rows(repeat)
        if self._bins is None or self._bins[0] != partition or self._bins[1] is not rows:
            self._bins = partition, rows, read_only(partition.locate(rows))
        return self._bins[2]

    @phase("statistics")
    def bin_counts(self, binning: Binning, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the bins that a repeat's rows fill, in order, and how many rows of each part they have: (parts, bins)."""
        return self._part_counts.get((binning, repeat), lambda: self._count_parts(binning, repeat))

    def _count_parts(self, binning: Binning, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        index, labels = self.bins(binning, repeat), self.labels(repeat)
        # the entry holds the index, so that no other one gets its identity
        _, (bins, places) = self._occurring.get(id(index), lambda: (index, binning.occurring(index)))
        # rows that are not sampled have the label -1: theirs are the first counts
        of_labels = np.bincount((labels + np.int64(1)) * len(bins) + places, minlength=(self.parts + 1) * len(bins))
        return bins, of_labels.reshape(-1, len(bins))[1:]


class BlockSample(Sample):
    """The training or the test rows of a block's runs."""

    def __init__(self, block: Block, training: bool) -> None:
        self._block = block
        self._training = training
        self.geometry = block.geometry
        self.runs = len(block.runs)
        self._counted: tuple[Binning, dict[int, BinCounts]] | None = None

    @property
    def n(self) -> np.ndarray:
        return self._of_runs(self._block.counts)

    @cached_property
    def moments(self) -> Moments:
        return Moments(from_multiples(self._of_runs(self._block.grams)), self.geometry)

    @property
    def half_range(self) -> np.ndarray:
        return read_only(np.array([self._block.half_range(repeat) for repeat, _ in self._block.runs]))

    def sums(self, query: Summand) -> np.ndarray:
        return self._of_runs(self._block.sums(query)) if query.state is None else super().sums(query)

    def rows(self, run: int) -> Rows:
        repeat, index = self._row_index(run)
        per_person = self.geometry.rows_per_person
        return self._block.rows(repeat).take(index, per_person and int(self.n[run]) // per_person)

    def chunks(self, run: int) -> Iterator[Rows]:
        # rows are taken chunk by chunk: a copy of a large table would cost more than most passes over it
        repeat, index = self._row_index(run)
        rows = self._block.rows(repeat)
        if self._block.by_blocks:
            # as a streamed table is read: how many rows are multiplied at a time may change a score's last bit
            starts = np.flatnonzero(np.diff(index // BLOCK_ROWS, prepend=-1))
            return (rows.take(slice(part[0], part[-1] + 1)) for part in np.split(index, starts[1:]))
        return (rows.take(index[start : start + CHUNK]) for start in range(0, len(index), CHUNK))

    def tables(self) -> Iterator[TableOfRuns]:
        block, parts = self._block, np.arange(self._block.tests, dtype=np.int32)[:, None]
        for number, repeat in enumerate(block.repeats):
            runs = slice(number * block.tests, (number + 1) * block.tests)
            yield TableOfRuns(runs, block.rows(repeat), partial(self._included, block.labels(repeat), parts))

    def _included(self, labels: np.ndarray, parts: np.ndarray, rows: slice) -> np.ndarray:
        label = labels[rows]
        return np.asarray((label != parts) & (label >= 0) if self._training else label == parts)

    def bins(self, partition: Partition, run: int) -> np.ndarray:
        repeat, index = self._row_index(run)
        return np.asarray(self._block.bins(partition, repeat)[index])

    def bin_counts(self, binning: Binning, run: int) -> BinCounts:
        if type(binning) is not Binning:  # a subclass may be equal to what it is not
            return super().bin_counts(binning, run)
        if self._counted is None or self._counted[0] != binning:
            self._counted = binning, {}  # those of the last binning alone: a mechanism has the same bins at every ε
        _, known = self._counted
        if run in known:
            return known[run]
        repeat, fold = self._block.runs[run]
        bins, of_parts = self._block.bin_counts(binning, repeat)
        rows = of_parts.sum(axis=0) - of_parts[fold] if self._training else of_parts[fold]
        (filled,) = np.nonzero(rows)
        counts = BinCounts(bins[filled], rows[filled].astype(float))
        if sum(each.nbytes for each in known.values()) + counts.nbytes <= MAX_BYTES_OF_COUNTS:
            known[run] = counts
        return counts

    def _row_index(self, run: int) -> tuple[int, np.ndarray]:
        """Return a run's repeat and the positions of its rows in the repeat's table."""
        repeat, fold = self._block.runs[run]
        labels = self._block.labels(repeat)
        return repeat, np.flatnonzero((labels != fold) & (labels >= 0) if self._training else labels == fold)

    def _of_runs(self, parts: np.ndarray) -> np.ndarray:
        """Turn (repeats, parts, …) into (runs, …): the tested part, or the total minus it."""
        tested = parts[:, : self._block.tests]
        chosen = parts.sum(axis=1, keepdims=True) - tested if self._training else tested
        return read_only(np.ascontiguousarray(chosen.reshape(-1, *parts.shape[2:])))
