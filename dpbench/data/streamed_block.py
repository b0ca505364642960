"""The block of a streamed table: its sums come from one pass, and rows can only be read again, in order."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.one_entry_cache import OneEntryCache
from dpbench.base.read_only import read_only
from dpbench.data.bins import Binning, Partition
from dpbench.data.blocks import Block, BlockSample
from dpbench.data.geometry import Geometry
from dpbench.data.moments import Moments, from_multiples
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.data.streamed_counts import count_parts

NEEDS_ROWS = (
    "The table is streamed, so only sums of its rows are in memory. With dataset.stream=false the rows are loaded, if they fit."
)


class StreamedBlock(Block):
    """Repeats of a streamed table, seen through the sums of their parts."""

    def __init__(
        self,
        geometry: Geometry,
        grams: np.ndarray,
        counts: np.ndarray,
        repeats: Sequence[int],
        tests: int,
        blocks_of: Callable[[int, Callable[[int], bool]], Iterator[tuple[int, Rows]]],
    ) -> None:
        """``blocks_of(repeat, wanted)`` reads the blocks of rows whose part in this repeat is wanted, in the table's order.

        It yields the part with each of them.
        """
        self.geometry = geometry
        self.grams = read_only(grams)  # other blocks compute them when they are first used
        self.counts = read_only(counts.astype(float))
        self.repeats = repeats
        self.parts = grams.shape[1]
        self.tests = tests
        self.blocks_of = blocks_of
        self._part_counts = OneEntryCache()
        self.train = StreamedSample(self, training=True)
        self.test = StreamedSample(self, training=False)

    def rows(self, repeat: int) -> Rows:
        raise Refused(NEEDS_ROWS)

    def half_range(self, repeat: int) -> float:
        return self.geometry.half_range

    def _count_parts(self, binning: Binning, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        return count_parts(binning, self.blocks_of(repeat, lambda part: True), self.parts)


class StreamedSample(BlockSample):
    """The training or the test rows of a streamed block's runs."""

    _block: StreamedBlock

    def rows(self, run: int) -> Rows:
        raise Refused(NEEDS_ROWS)

    def chunks(self, run: int) -> Iterator[Rows]:
        repeat, fold = self._block.runs[run]
        return (rows for _, rows in self._block.blocks_of(repeat, lambda part: (part != fold) == self._training))

    def bins(self, partition: Partition, run: int) -> np.ndarray:
        raise Refused(NEEDS_ROWS)


class WholeStreamedSample(Sample):
    """A whole streamed table, in one run: what a release is fitted on."""

    runs = 1

    def __init__(self, geometry: Geometry, gram: np.ndarray, rows: int, read: Callable[[], Iterator[Rows]]) -> None:
        """``gram`` has multiples of 2^-32, and ``read`` reads all rows again."""
        self.geometry = geometry
        self._gram = gram
        self._rows = rows
        self._read = read

    @property
    def n(self) -> np.ndarray:
        return read_only(np.array([float(self._rows)]))

    @property
    def moments(self) -> Moments:
        return Moments(from_multiples(self._gram)[None], self.geometry)

    def rows(self, run: int) -> Rows:
        raise Refused(NEEDS_ROWS)

    def chunks(self, run: int) -> Iterator[Rows]:
        return self._read()
