"""Bins: how a histogram divides scaled rows, from public bounds alone and for any number of bins."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.read_only import read_only
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows

INDEX_LIMIT = 2**62
"""A bin's index is one integer below this limit; a histogram with more bins needs several integers for each."""
MIN_TAIL_BINS = 512
"""The trailing axes of a dense pass have at least this many bins together: the width of its matrix products."""
MAX_BINS_PER_INDEX = 16
"""Rows are counted in an array of all bins if there are at most this many bins for each row."""
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
                axes.append(_one_hot_bins([1 + member for member in leaders[index]]))
            elif index not in grouped:
                levels = g.levels[index] if g.levels else 0
                axes.append(_level_bins(1 + index, ends, levels) if 1 < levels <= bins else _equal_bins(1 + index, ends, bins))
        target = 1 + g.features
        return (*axes, _level_bins(target, (0.0, 1.0), 2) if g.target == "binary" else _equal_bins(target, (-1.0, 1.0), bins))

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
            if _size(parts[-1]) * axis.size >= INDEX_LIMIT:
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
        for number, axes in enumerate(self.index_axes):
            _place(z, axes, index[:, number])
        return Rows(z, self.geometry)

    def count(self, index: np.ndarray, weights: np.ndarray | None = None) -> BinCounts:
        """Count how often (or add up with which weights) each bin occurs, in the order of the bins."""
        if len(self.index_axes) == 1 and self.size <= MAX_BINS_PER_INDEX * len(index):
            counts = np.bincount(index[:, 0])  # a pass over all bins is faster than sorting the index
            (bins,) = np.nonzero(counts)
            totals = counts if weights is None else np.bincount(index[:, 0], weights)
            return BinCounts(bins[:, None], totals[bins].astype(float))
        if len(self.index_axes) == 1 and weights is None:
            bins, counts = np.unique(index[:, 0], return_counts=True)  # much faster than sorting rows of integers
            return BinCounts(bins[:, None], counts.astype(float))
        order = np.lexsort(index.T[::-1])
        ordered = index[order]
        new = np.ones(len(ordered), dtype=bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        totals = np.bincount(np.cumsum(new) - 1, None if weights is None else weights[order])
        return BinCounts(ordered[new], totals.astype(float))

    # -- all bins in order, where an index is one integer ------------------------------------------------------------

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
        while split > 0 and _size(features[split:]) < MIN_TAIL_BINS:
            split -= 1
        parts = []
        for axes, constant in ((features[:split], 1.0), (features[split:], 0.0)):
            z = np.zeros((_size(axes), self.geometry.features + 2))
            z[:, 0] = constant
            _place(z, axes, np.arange(len(z)))
            parts.append(Rows(z, self.geometry).x)
        head, tail = parts
        return Grid(head, tail, target.centres[:, 0])

    @cached_property
    def _centre_parts(self) -> tuple[np.ndarray, np.ndarray]:
        """What the leading axes with the intercept, and the trailing axes, add to a centre: (their bins, 1 + features + 1)."""
        split = len(self.axes) - 1
        while split > 0 and _size(self.axes[split:]) < MIN_TAIL_BINS:
            split -= 1
        head, tail = (np.zeros((_size(axes), self.geometry.features + 2)) for axes in (self.axes[:split], self.axes[split:]))
        head[:, 0] = 1
        _place(head, self.axes[:split], np.arange(len(head)))
        _place(tail, self.axes[split:], np.arange(len(tail)))
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

    def minus(self, other: BinCounts, binning: Binning) -> BinCounts:
        """Subtract another sparse histogram's numbers, bin by bin."""
        return binning.count(np.concatenate([self.index, other.index]), np.concatenate([self.counts, -other.counts]))


def spell_count(number: int) -> str:
    """Spell a count for a sentence, however large it is."""
    return f"{number:,}" if number < 10**9 else f"more than 10^{math.floor(math.log10(number))}"


@dataclass(frozen=True, eq=False)
class BinAxis:
    """The bins of one attribute: the columns of (1, features, target) that they divide, and the centres they stand for."""

    columns: list[int]
    centres: np.ndarray
    """(bins, columns)"""
    locate: Callable[[np.ndarray], np.ndarray]
    """Returns the bin of each row."""

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.centres)


def _equal_bins(column: int, ends: tuple[float, float], size: int) -> BinAxis:
    """Return equal bins of a range; the upper end belongs to the last."""
    low, width = ends[0], ends[1] - ends[0]
    centres = low + width / 2 * ((2 * np.arange(size) + 1) / size)
    return _numeric_bins(column, centres, lambda values: np.floor((values - low) * (size / width)))


def _level_bins(column: int, ends: tuple[float, float], size: int) -> BinAxis:
    """Return a bin for each of ``size`` equally spaced values, both ends included."""
    low, width = ends[0], ends[1] - ends[0]
    return _numeric_bins(column, np.linspace(*ends, size), lambda values: np.rint((values - low) * ((size - 1) / width)))


def _numeric_bins(column: int, centres: np.ndarray, position: Callable[[np.ndarray], np.ndarray]) -> BinAxis:
    """Return the bins of one column; a value's position is cut to the first or the last bin."""
    last = len(centres) - 1
    return BinAxis([column], centres[:, None], lambda z: np.clip(position(z[:, column]), 0, last).astype(np.int64))


def _one_hot_bins(columns: list[int]) -> BinAxis:
    """Return a bin for "no level", then one for each level of a one-hot group."""

    def locate(z: np.ndarray) -> np.ndarray:
        bins = np.zeros(len(z), dtype=np.int64)
        for number, column in enumerate(columns, start=1):
            bins[z[:, column] > 0.5] = number
        return bins

    return BinAxis(columns, np.vstack([np.zeros(len(columns)), np.eye(len(columns))]), locate)


def _size(axes: Sequence[BinAxis]) -> int:
    return math.prod(axis.size for axis in axes)


def _place(z: np.ndarray, axes: Sequence[BinAxis], index: np.ndarray) -> None:
    """Write the centres of the axes' bins, numbered by one integer each, into their columns."""
    if axes:  # NumPy cannot unravel an index over no axes
        for axis, at in zip(axes, np.unravel_index(index, [axis.size for axis in axes]), strict=True):
            z[:, axis.columns] = axis.centres[at]
