"""Sums of a streamed table: one pass gives the second moments of every part of every repeat, and passes over ranges add up.

The Gram matrix of each block of rows is formed once, in float64, where it is exact, and added to the part that the block belongs
to in each repeat, as whole multiples of 2^-32. So any order, and any number of workers, gives the same bits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.moments import PRODUCT_BITS, whole_multiples
from dpbench.data.scaling import Scaler
from dpbench.data.splits import BLOCK_ROWS
from dpbench.data.table import Table
from dpbench.data.table_stream import TableChunk, TableStream

BLOCKS_AT_ONCE = 16
"""Blocks that are read, scaled and summed together, at most: few enough for the processor's caches."""
MAX_VALUES_AT_ONCE = 2**22
"""Values that are scaled, and sums that are added, together: 32 MB, also where columns or repeats are many."""


@dataclass(frozen=True)
class StreamedSums:
    """What a pass over some blocks of a table adds up."""

    grams: np.ndarray
    """Sums of products of two columns of (1, features, y), as multiples of 2^-32: (repeats, parts, d + 2, d + 2)."""
    outside: np.ndarray
    """The number of values of each feature column, and of the target, that lie outside the declared bounds: (d + 1,)."""
    low: np.ndarray
    """The smallest value of each column of the source."""
    high: np.ndarray
    """The largest one."""

    def __add__(self, other: Self) -> Self:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return type(self)(self.grams + other.grams, self.outside + other.outside, low, high)

    @property
    def counts(self) -> np.ndarray:
        """The number of rows of each part: (repeats, parts)."""
        return self.grams[:, :, 0, 0] >> PRODUCT_BITS

    @property
    def rows(self) -> int:
        """The number of rows that were read."""
        return int(self.counts[0].sum())


def sum_blocks(stream: TableStream, scaler: Scaler, labels: np.ndarray, parts: int, first: int, last: int) -> StreamedSums:
    """Sum blocks ``first`` to ``last`` (not included); ``labels`` are all blocks' parts: (repeats, blocks)."""
    repeats, width = len(labels), scaler.geometry.features + 2
    grams = np.zeros((repeats * parts, width * width), dtype=np.int64)
    seen = _Ranges(stream.head, scaler.geometry)
    for block, z in scaled_blocks(stream, scaler, first, last, seen.add):
        products = _block_grams(z).reshape(-1, width * width)
        part_of = labels[:, None, block : block + len(products)] == np.arange(parts)[:, None]
        chosen, step = part_of.reshape(repeats * parts, -1).astype(float), max(1, MAX_VALUES_AT_ONCE // width**2)
        for start in range(0, repeats * parts, step):
            # so few rows that these sums of blocks are exact in float64, too
            grams[start : start + step] += whole_multiples(chosen[start : start + step] @ products)
    return StreamedSums(grams.reshape(repeats, parts, width, width), seen.outside, seen.low, seen.high)


def scaled_blocks(
    stream: TableStream, scaler: Scaler, first: int, last: int, look: Callable[[TableChunk], None] = lambda chunk: None
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the scaled rows of a few blocks with the number of the first; the next ones take their place in memory.

    ``look`` is called with every chunk before it is scaled.
    """
    width = scaler.geometry.features + 2
    together = max(1, min(BLOCKS_AT_ONCE, MAX_VALUES_AT_ONCE // (width * BLOCK_ROWS)))
    size = together * BLOCK_ROWS
    buffer = np.empty((width, size)).T  # column by column in memory, as the columns are read
    block, filled = first, 0
    for chunk in stream.chunks(first * BLOCK_ROWS, last * BLOCK_ROWS, size):
        look(chunk)
        start = 0
        while start < chunk.rows:
            stop = min(chunk.rows, start + size - filled)
            features = [column[start:stop] for column in chunk.features]
            scaler.fill(features, chunk.response[start:stop], buffer[filled : filled + stop - start])
            filled += stop - start
            start = stop
            if filled == size:
                yield block, buffer
                block, filled = block + together, 0
    if filled:
        yield block, buffer[:filled]


def _block_grams(z: np.ndarray) -> np.ndarray:
    """Return the Gram matrix of every block, of which the last may be shorter: (blocks, d + 2, d + 2)."""
    whole = len(z) // BLOCK_ROWS
    blocks = z[: whole * BLOCK_ROWS].T.reshape(z.shape[1], whole, BLOCK_ROWS).transpose(1, 0, 2)
    grams = np.matmul(blocks, blocks.transpose(0, 2, 1))
    rest = z[whole * BLOCK_ROWS :]
    return np.concatenate([grams, (rest.T @ rest)[None]]) if len(rest) else grams


class _Ranges:
    """The ranges of what was read so far, and how many values lay outside the declared bounds."""

    def __init__(self, table: Table, geometry: Geometry) -> None:
        one_hot = [column.group is not None for column in table.columns]
        self._columns = [(index, column) for index, column in enumerate(table.columns) if not one_hot[index]]
        self._target = table.target if geometry.target == "real" else None
        self.outside = np.zeros(len(table.columns) + 1, dtype=np.int64)
        self.low = self.high = np.empty(0)

    def add(self, chunk: TableChunk) -> None:
        for index, column in self._columns:
            self.outside[index] += _count_outside(chunk.features[index], column.low, column.high)
        if self._target is not None:
            self.outside[-1] += _count_outside(chunk.response, self._target.low, self._target.high)
        self.low = np.minimum(self.low, chunk.low) if self.low.size else chunk.low
        self.high = np.maximum(self.high, chunk.high) if self.high.size else chunk.high


def _count_outside(values: np.ndarray, low: float, high: float) -> int:
    return int(np.count_nonzero(values < low) + np.count_nonzero(values > high))
