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
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows

INDEX_LIMIT = 2**62
"""A bin's index is one integer below this limit; a histogram with more bins needs several integers for each."""
MIN_TAIL_BINS = 512
"""The trailing axes of a dense pass have at least this many bins together: the width of its matrix products."""
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
        if self.few_for(len(index)):
            counts = np.bincount(index[:, 0])  # a pass over all bins is faster than sorting the index
            (bins,) = np.nonzero(counts != 0)  # NumPy finds what is true several times faster than what is not 0
            totals = counts if weights is None else np.bincount(index[:, 0], weights)
            return BinCounts(bins[:, None], totals[bins].astype(float))
        if len(self.index_axes) == 1 and weights is None:
            bins, counts = np.unique(index[:, 0], return_counts=True)  # much faster than sorting rows of integers
            return BinCounts(bins[:, None], counts.astype(float))
        order = np.argsort(index[:, 0]) if index.shape[1] == 1 else np.lexsort(index.T[::-1])
        ordered = index[order]
        new = np.ones(len(ordered), dtype=bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        totals = np.bincount(np.cumsum(new) - 1, None if weights is None else weights[order])
        return BinCounts(ordered[new], totals.astype(float))

    # -- all bins in order, where an index is one integer ------------------------------------------------------------

    def few_for(self, number: int) -> bool:
        """Return whether this many bins are best held in an array of all bins."""
        return len(self.index_axes) == 1 and self.size <= MAX_BINS_PER_INDEX * number

    def all_bins(self, bins: BinCounts) -> np.ndarray:
        """Return the number of every bin: those of a sparse histogram, and zeros."""
        numbers = np.zeros(self.size)
        numbers[bins.index[:, 0]] = bins.counts
        return numbers

    @property
    def step(self) -> int:
        """The number of bins that a dense pass takes at a time: a multiple of the trailing axes' bins."""
        tail = len(self._centre_parts[1])
        return max(STEP_BINS // tail, 1) * tail

    def gram(self, start: int, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weight · zz' over consecutive bins that fill the trailing axes, in one pass over the weights.

        A centre is the sum of a part from the leading axes and a part from the trailing axes, so four small products suffice.
        """
        head, tail = self._centre_parts
        table = weights.reshape(-1, len(tail))
        head = head[start // len(tail) :][: len(table)]
        across = head.T @ (table @ tail)
        leading = (head.T * table.sum(axis=1)) @ head
        trailing = (tail.T * table.sum(axis=0)) @ tail
        return np.asarray(leading + across + across.T + trailing)

    @cached_property
    def grid(self) -> Grid:
        """The bins of the features as a grid of two parts of their centres' design, and the centres of the target."""
        features, target = self.axes[:-1], self.axes[-1]
        split = len(features)
        while split > 0 and bins_of(features[split:]) < MIN_TAIL_BINS:
            split -= 1
        head, tail = self._table(features[:split]), self._table(features[split:])
        head[:, 0] = 1
        return Grid(Rows(head, self.geometry).x, Rows(tail, self.geometry).x, target.centres[:, 0])

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

    @cached_property
    def _centre_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """What the leading axes with the intercept, and the trailing axes, add to a centre: (their bins, 1 + features + 1)."""
        split = len(self.axes) - 1
        while split > 0 and bins_of(self.axes[split:]) < MIN_TAIL_BINS:
            split -= 1
        head, tail = self._table(self.axes[:split]), self._table(self.axes[split:])
        head[:, 0] = 1
        return head, tail


@dataclass(frozen=True, eq=False)
class Grid:
    """All bins in order, where an index is one integer: bin (i, j, k) stands for x = head_i + tail_j and y_k."""

    head: np.ndarray
    """(heads, D)"""
    tail: np.ndarray
    """(tails, D)"""
    y: np.ndarray
    """(targets,)"""

    def sum(self, heads: slice, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weight · x over the bins of some heads; weights are (these heads, tails)."""
        return np.asarray(weights.sum(axis=1) @ self.head[heads] + weights.sum(axis=0) @ self.tail)

    def gram(self, heads: slice, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weight · xx' over the bins of some heads, in one pass over the weights: four small products."""
        head, tail = self.head[heads], self.tail
        across = head.T @ (weights @ tail)
        leading = (head.T * weights.sum(axis=1)) @ head
        return np.asarray(leading + across + across.T + (tail.T * weights.sum(axis=0)) @ tail)


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
