"""Bins: how a histogram divides scaled rows, from public bounds alone and for any number of bins."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.read_only import read_only
from dpbench.data.bin_axes import BinAxis, bins_of, equal_bins, level_bins, one_hot_bins, place_centres
from dpbench.data.bin_grid import Grid
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows

INDEX_LIMIT = 2**62
"""A bin's index is one integer below this limit; a histogram with more bins needs several integers for each."""
MIN_TAIL_BINS = 512
"""The trailing axes of a grid have at least this many bins together: the width of its matrix products."""
MAX_BINS_PER_INDEX = 16
"""Rows and bins are held in an array of all bins if there are at most this many for each of them."""
MAX_TABLE_BINS = 2**15
"""Centres are sums of rows of tables with at most this many bins, or those of one axis: they stay in the processor's cache."""
STEP_BINS = 2**18
"""A dense pass holds about this many bins in memory at a time."""


class Partition(Hashable, Protocol):
    """What gives every row an index by public facts alone, and is equal to others that do it alike."""

    def locate(self, rows: Rows) -> np.ndarray: ...


@dataclass(frozen=True)
class Binning:
    """The bins of a histogram over the features and the target of rows that are scaled to the box or the corner.

    Each attribute is an axis, and the target is the last one; the intercept has none. A one-hot group has a bin for each
    level and one for "no level"; an attribute with at most ``bins_per_attribute`` public levels has a bin for each; every
    other attribute has ``bins_per_attribute`` equal bins over its declared range; a binary target has two. A bin stands for
    its centre. The number of bins is a Python integer and may be astronomically large.
    """

    geometry: Geometry
    bins_per_attribute: int

    def __post_init__(self) -> None:
        if self.geometry.scaling == "ball":
            raise ValueError("Bins divide the declared ranges of columns, which the ball does not keep.")

    @classmethod
    def within(cls, geometry: Geometry, bins: int, limit: int) -> Binning:
        """Return the finest binning with at most ``bins`` bins per attribute and at most ``limit`` bins in total."""
        least = cls(geometry, 2).size
        if least > limit:
            raise Refused(f"With two bins per attribute, the histogram has {spell_count(least)} bins. The most is {limit:,}.")
        return cls(geometry, 1 + bisect_right(range(2, bins + 1), limit, key=lambda number: cls(geometry, number).size))

    @cached_property
    def axes(self) -> tuple[BinAxis, ...]:
        """The axes in the order of the columns."""
        g, bins = self.geometry, self.bins_per_attribute
        leaders = {group[0]: group for group in g.groups}
        grouped = {member for group in g.groups for member in group}
        axes: list[BinAxis] = []
        ends = g.value_range
        for index in range(g.features):
            if index in leaders:
                axes.append(one_hot_bins([1 + member for member in leaders[index]]))
            elif index not in grouped:
                levels = g.levels[index] if g.levels else 0
                axes.append(level_bins(1 + index, ends, levels) if 1 < levels <= bins else equal_bins(1 + index, ends, bins))
        target = 1 + g.features
        return (*axes, level_bins(target, (0.0, 1.0), 2) if g.target == "binary" else equal_bins(target, (-1.0, 1.0), bins))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each axis."""
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def size(self) -> int:
        """The number of bins."""
        return math.prod(self.shape)

    @cached_property
    def index_axes(self) -> tuple[tuple[BinAxis, ...], ...]:
        """The axes that share each integer of a bin's index."""
        parts: list[list[BinAxis]] = [[]]
        for axis in self.axes:
            if bins_of(parts[-1]) * axis.size >= INDEX_LIMIT:
                parts.append([])
            parts[-1].append(axis)
        return tuple(map(tuple, parts))

    # -- bins by their index -----------------------------------------------------------------------------------------

    def locate(self, rows: Rows) -> np.ndarray:
        """Return the index of each row's bin: (rows, integers per index)."""
        index = np.zeros((rows.n, len(self.index_axes)), dtype=np.int64)
        for number, axes in enumerate(self.index_axes):
            for axis in axes:
                index[:, number] *= axis.size
                index[:, number] += axis.locate(rows.z)
        return index

    def centres(self, index: np.ndarray) -> Rows:
        """Return the centres of bins as rows."""
        z = np.zeros((len(index), self.geometry.features + 2))
        z[:, 0] = 1
        for number, parts in enumerate(self._centre_tables):
            rest = index[:, number]
            for table in reversed(parts):  # each column is zero in all tables but one
                rest, at = np.divmod(rest, len(table))
                z += np.take(table, at, axis=0)
        return Rows(z, self.geometry)

    def count(self, index: np.ndarray, weights: np.ndarray | None = None) -> BinCounts:
        """Count how often (or add up with which weights) each bin occurs, in the order of the bins."""
        bins, places = self.occurring(index)
        return BinCounts(bins, np.bincount(places, weights, len(bins)).astype(float))

    def occurring(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bins that occur, in their order, and the place of each row's bin among them."""
        if self.few_for(len(index)):  # a pass over all bins is faster than sorting the index
            occurs = np.zeros(self.size, dtype=bool)
            occurs[index[:, 0]] = True
            (bins,) = np.nonzero(occurs)
            place = np.empty(self.size, dtype=np.int64)
            place[bins] = np.arange(len(bins))
            return bins[:, None], place[index[:, 0]]
        order = np.argsort(index[:, 0]) if index.shape[1] == 1 else np.lexsort(index.T[::-1])
        sorted_index = index[order]
        new = np.ones(len(index), dtype=bool)
        new[1:] = (sorted_index[1:] != sorted_index[:-1]).any(axis=1)
        places = np.empty(len(index), dtype=np.int64)
        places[order] = np.cumsum(new) - 1
        return sorted_index[new], places

    def ordered(self, index: np.ndarray, counts: np.ndarray) -> BinCounts:
        """Return distinct bins in their order."""
        # a stable sort merges what is ordered already
        order = np.argsort(index[:, 0], kind="stable") if index.shape[1] == 1 else np.lexsort(index.T[::-1])
        return BinCounts(index[order], counts[order])

    # -- all bins in order, where an index is one integer ------------------------------------------------------------

    def few_for(self, number: int) -> bool:
        """Return whether this many bins are best held in an array of all bins."""
        return len(self.index_axes) == 1 and self.size <= MAX_BINS_PER_INDEX * number

    def all_bins(self, bins: BinCounts) -> np.ndarray:
        """Return the number of every bin: those of a sparse histogram, and zeros."""
        numbers = np.zeros(self.size)
        numbers[bins.index[:, 0]] = bins.counts
        return numbers

    # -- bins as a grid of two parts of their axes ---------------------------------------------------------------------

    @property
    def step(self) -> int:
        """The number of bins that a dense pass takes at a time: a multiple of the trailing axes' bins."""
        tail = len(self.grid.tail)
        return max(STEP_BINS // tail, 1) * tail

    def gram(self, start: int, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weight · zz' over consecutive bins that fill the trailing axes."""
        table = weights.reshape(-1, len(self.grid.tail))
        first = start // len(self.grid.tail)
        return self.grid.part(slice(first, first + len(table))).gram(table)

    def grid_for(self, number: int) -> bool:
        """Return whether sums over this many bins are best made on the grid, whose two tables cost little next to them."""
        return len(self.index_axes) == 1 and 2 * sum(map(bins_of, _halves(self.axes))) <= number

    @cached_property
    def grid(self) -> Grid:
        """All bins, and their centres as (1, features, target)."""
        return Grid(*self._half_tables(self.axes))

    @cached_property
    def design_grid(self) -> Grid:
        """The bins of the features alone, and their centres as rows of the design."""
        return Grid(*(Rows(table, self.geometry).x for table in self._half_tables(self.axes[:-1])))

    def _half_tables(self, axes: Sequence[BinAxis]) -> list[np.ndarray]:
        tables = [self._table(half) for half in _halves(axes)]
        tables[0][:, 0] = 1
        return tables

    @cached_property
    def _centre_tables(self) -> list[list[np.ndarray]]:
        """For each integer of an index: tables of what its axes, a few at a time, add to a centre."""
        tables: list[list[np.ndarray]] = []
        for axes in self.index_axes:
            parts: list[list[BinAxis]] = [[]]
            for axis in axes:
                if bins_of(parts[-1]) * axis.size > MAX_TABLE_BINS:
                    parts.append([])
                parts[-1].append(axis)
            tables.append([self._table(part) for part in parts])
        return tables

    def _table(self, axes: Sequence[BinAxis]) -> np.ndarray:
        """Return what each bin of some axes adds to a centre: (their bins, 1 + features + 1)."""
        table = np.zeros((bins_of(axes), self.geometry.features + 2))
        place_centres(table, axes, np.arange(len(table)))
        return table


def _halves(axes: Sequence[BinAxis]) -> tuple[Sequence[BinAxis], Sequence[BinAxis]]:
    """Return leading and trailing axes, with about as many bins: at least the root of all, and enough for a wide product."""
    split, least = len(axes), max(MIN_TAIL_BINS, math.isqrt(bins_of(axes)))
    while split > 0 and bins_of(axes[split:]) < least:
        split -= 1
    return axes[:split], axes[split:]


@dataclass(frozen=True)
class BinCounts:
    """Some bins with a number each, in the order of the bins: a sparse histogram."""

    index: np.ndarray = field(repr=False)
    """(bins, integers per index)"""
    counts: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        read_only(self.index)
        read_only(self.counts)

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.index.nbytes + self.counts.nbytes

    def minus(self, other: BinCounts, binning: Binning) -> BinCounts:
        """Subtract another sparse histogram's numbers, bin by bin."""
        return binning.count(np.concatenate([self.index, other.index]), np.concatenate([self.counts, -other.counts]))


def spell_count(number: int) -> str:
    """Spell a count for a sentence, however large it is."""
    return f"{number:,}" if number < 10**9 else f"more than 10^{math.floor(math.log10(number))}"
