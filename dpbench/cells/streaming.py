"""The rows of a streamed dataset as one model sees them: sums from one pass, which workers may share, and rows read again."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.one_thread import one_thread
from dpbench.base.phases import phase
from dpbench.cells.cell import Cell
from dpbench.cells.failures import CAUGHT, explained
from dpbench.cells.loading import DatasetRows, TableSummary, rows_of
from dpbench.contracts.dataset import Dataset, doubt_about_bounds
from dpbench.contracts.model import Model
from dpbench.data.blocks import Block
from dpbench.data.moments import from_multiples
from dpbench.data.scaling import Rows, Scaler, check_rows, steps_of_spreads
from dpbench.data.splits import BLOCK_ROWS, Splits
from dpbench.data.streamed_block import StreamedBlock, WholeStreamedSample
from dpbench.data.streamed_sums import StreamedSums, scaled_blocks, sum_blocks

MIN_BLOCKS_OF_RANGE = 64
"""The fewest blocks that are worth a pass of their own: 262,144 rows."""
RANGES_PER_WORKER = 4
"""Ranges that each worker gets, so that all end together."""


@dataclass(frozen=True)
class BlockRange:
    """Consecutive blocks of a cell's streamed table, which one worker sums."""

    cell: Cell
    first: int
    last: int
    """The first block behind them."""


class StreamedRows(DatasetRows):
    """A streamed dataset as one model sees it. Nothing is read before sums are asked for."""

    streamed = True

    def __init__(self, dataset: Dataset, model: Model, splits: Splits, seed: int) -> None:
        super().__init__(dataset, model, splits, seed)
        if splits.by != "blocks":
            raise Refused(
                "A streamed table is split by blocks of rows, because the part of a row must be known before all are read: "
                "set splits.by=blocks. Or load it with dataset.stream=false, if it fits into memory."
            )
        self.stream = self.dataset.stream_table()
        check_rows(self.stream.rows)
        self.scaler = Scaler(self.stream.head, self.dataset.scaling, model.intercept, model.target)
        self._sums: StreamedSums | None = None

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.stream.rows // BLOCK_ROWS)

    @cached_property
    def parts_of_blocks(self) -> np.ndarray:
        """The part of every block in every repeat: (repeats, blocks)."""
        repeats = range(self.splits.repeats)
        return np.stack([self.splits.block_parts(self.blocks, self.seed, self.identity, repeat) for repeat in repeats])

    @phase("statistics")
    def sums_of(self, first: int, last: int) -> StreamedSums:
        """Return the sums of some blocks, in one pass over their rows."""
        return sum_blocks(self.stream, self.scaler, self.parts_of_blocks, self.splits.parts, first, last)

    def take(self, sums: StreamedSums) -> None:
        """Use the sums of all blocks that workers have made."""
        if sums.rows != self.stream.rows:
            raise Refused("The file of a streamed table has changed since it was read: run the command again.")
        self.stream.check_ranges(sums.low, sums.high)
        self._sums = sums

    @property
    def sums(self) -> StreamedSums:
        """The sums of all blocks: made here, unless workers have made them."""
        if self._sums is None:
            self.take(self.sums_of(0, self.blocks))
        assert self._sums is not None
        return self._sums

    def facts(self, repeat: int) -> TableSummary:
        doubt = doubt_about_bounds(self.dataset, self.stream.head)
        return TableSummary(self.scaler.geometry, self.stream.rows, self.stream.head.leaks, bounds_doubt=doubt)

    def clipped(self, repeat: int) -> tuple[float, tuple[float, ...]]:
        *features, target = (float(count / self.stream.rows) for count in self.sums.outside)
        return target, tuple(features)

    def spreads(self, repeat: int) -> np.ndarray:
        gram = from_multiples(self.sums.grams[0].sum(axis=0))
        return steps_of_spreads(gram[0, 1:-1], gram.diagonal()[1:-1], self.stream.rows)

    def known_coefficients(self, runs: Sequence[tuple[int, int]]) -> np.ndarray:
        return np.full((len(runs), self.scaler.geometry.dimension), np.nan)

    def part_sizes(self, repeat: int = 0) -> np.ndarray:
        return self.splits.block_sizes(self.stream.rows, self.seed, self.identity, repeat)

    def block(self, repeats: Sequence[int]) -> Block:
        index, sums = list(repeats), self.sums
        shape = self.scaler.geometry, sums.grams[index], sums.counts[index], repeats, self.splits.tests
        return StreamedBlock(*shape, self._blocks_of)

    def whole_sample(self, check: Callable[[], None]) -> WholeStreamedSample:
        """Return all rows, seen through their sums and read again for every query that a release answers.

        ``check`` is called after every pass, before its sum is used: it may refuse rows that changed.
        """
        gram = self.sums.grams[0].sum(axis=0)

        def read() -> Iterator[Rows]:
            yield from (rows for _, rows in self._blocks_of(0, lambda part: True))
            check()

        return WholeStreamedSample(self.scaler.geometry, gram, self.stream.rows, read)

    def _blocks_of(self, repeat: int, wanted: Callable[[int], bool]) -> Iterator[tuple[int, Rows]]:
        """Read the blocks of rows whose part in a repeat is wanted, with this part."""
        parts = self.parts_of_blocks[repeat]
        for first, z in scaled_blocks(self.stream, self.scaler, 0, self.blocks):
            for start in range(0, len(z), BLOCK_ROWS):
                part = int(parts[first + start // BLOCK_ROWS])
                if wanted(part):
                    # row by row in memory, as loaded rows are: products then have the same bits
                    yield part, Rows(np.array(z[start : start + BLOCK_ROWS], order="C"), self.scaler.geometry)


def ranges_of(cell: Cell, workers: int) -> list[BlockRange]:
    """Return ranges of blocks that cover a cell's table: one for a single worker, several of similar size for more.

    They begin where reading can begin, such as at the row groups of a Parquet file, so that no worker reads another one's rows.
    """
    rows = rows_of(cell)
    assert isinstance(rows, StreamedRows)
    count = min(workers * RANGES_PER_WORKER, rows.blocks // MIN_BLOCKS_OF_RANGE) if workers > 1 else 1
    starts = np.append(-(-np.asarray(rows.stream.starts) // BLOCK_ROWS), rows.blocks)
    ideal = np.linspace(0, rows.blocks, max(count, 1) + 1)
    edges = np.unique([starts[np.abs(starts - edge).argmin()] for edge in ideal]).tolist()
    return [BlockRange(cell, first, last) for first, last in pairwise(edges)]


def sum_range(part: BlockRange) -> StreamedSums | str:
    """Return the sums of a range of blocks, or why there are none: a sentence."""
    with one_thread():
        try:
            rows = rows_of(part.cell)
            assert isinstance(rows, StreamedRows)
            return rows.sums_of(part.first, part.last)
        except CAUGHT as error:
            return explained(error, part.cell)
