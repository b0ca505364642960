"""The grid: cells over scaled rows, made from public bounds alone, however many they are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows

WORD = 2**62
"""More cells than this take more than one integer each."""
TAIL = 512
"""The trailing axes of a dense pass have at least this many cells together: the width of its matrix products."""
STEP = 2**18
"""About how many cells of a dense pass are in memory at a time."""


@dataclass(frozen=True)
class Binning:
    """Cells over (features, target) of box-scaled rows; one axis an attribute, the last one for the target.

    A one-hot group has a cell for each level and one for none of them, an attribute of at most ``bins`` public levels a cell
    for each, every other one ``bins`` equal bins of its declared range; a binary target has two. The intercept has none. A
    cell stands for its centre. The number of cells is a Python integer and may be astronomically large: a cell is named by
    one integer below 2^62, or by several.
    """

    geometry: Geometry
    bins: int

    def __post_init__(self) -> None:
        if self.geometry.scaling != "box":
            raise ValueError("A grid divides the box, not the ball.")

    @classmethod
    def within(cls, geometry: Geometry, bins: int, cap: int) -> Binning:
        """The finest grid of at most so many bins with at most ``cap`` cells."""
        if cls(geometry, 2).cells > cap:
            raise Refused(f"Two bins an attribute make {spelled(cls(geometry, 2).cells)} cells. At most {cap:,} are allowed.")
        low, high = 2, bins
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if cls(geometry, middle).cells <= cap else (low, middle - 1)
        return cls(geometry, low)

    @cached_property
    def axes(self) -> tuple[BinAxis, ...]:
        g = self.geometry
        leaders = {group[0]: group for group in g.groups}
        grouped = {member for group in g.groups for member in group}
        axes: list[BinAxis] = []
        for index in range(g.features):
            if index in leaders:
                axes.append(OneHotBins(tuple(1 + member for member in leaders[index])))
            elif index not in grouped:
                levels = g.levels[index] if g.levels else 0
                axes.append(LevelBins(1 + index, -1.0, levels) if 1 < levels <= self.bins else EqualBins(1 + index, self.bins))
        last = 1 + g.features
        axes.append(LevelBins(last, 0.0, 2) if g.target == "binary" else EqualBins(last, self.bins))
        return tuple(axes)

    @cached_property
    def cells(self) -> int:
        return math.prod(axis.size for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @cached_property
    def words(self) -> tuple[tuple[BinAxis, ...], ...]:
        """The axes, in the runs that share one integer of a cell's name."""
        words: list[list[BinAxis]] = [[]]
        for axis in self.axes:
            if math.prod(other.size for other in words[-1]) * axis.size >= WORD:
                words.append([])
            words[-1].append(axis)
        return tuple(map(tuple, words))

    # -- cells by name -----------------------------------------------------------------------------------------------

    def index(self, rows: Rows) -> np.ndarray:
        """The cell of each row: (rows, words)."""
        names = np.zeros((rows.n, len(self.words)), dtype=np.int64)
        for number, axes in enumerate(self.words):
            for axis in axes:
                names[:, number] *= axis.size
                names[:, number] += axis.index(rows.z)
        return names

    def rows(self, index: np.ndarray) -> Rows:
        """The centres of cells as rows."""
        z = np.zeros((len(index), self.geometry.features + 2))
        z[:, 0] = 1
        for number, axes in enumerate(self.words):
            coordinates = np.unravel_index(index[:, number], [axis.size for axis in axes])
            for axis, at in zip(axes, coordinates, strict=True):
                z[:, axis.columns] = axis.points[at]
        return Rows(z, self.geometry)

    def tally(self, index: np.ndarray, weight: np.ndarray | None = None) -> BinCounts:
        """How often (or with which total weight) each cell occurs, in the cells' order."""
        if len(self.words) == 1 and weight is None:
            cells, counts = np.unique(index[:, 0], return_counts=True)
            return BinCounts(cells[:, None], counts.astype(float))
        order = np.lexsort(index.T[::-1])
        ordered = index[order]
        new = np.ones(len(ordered), dtype=bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        totals = np.bincount(np.cumsum(new) - 1, None if weight is None else weight[order])
        return BinCounts(ordered[new], totals.astype(float))

    # -- all cells in order, for a grid of one word --------------------------------------------------------------------

    @cached_property
    def _split(self) -> int:
        """Where the trailing axes begin."""
        at, width = len(self.axes) - 1, self.axes[-1].size
        while at > 0 and width < TAIL:
            at -= 1
            width *= self.axes[at].size
        return at

    @cached_property
    def _tail(self) -> np.ndarray:
        """What the trailing axes add to a centre: (their cells, 1 + features + 1)."""
        return self._parts(self.axes[self._split :])

    @cached_property
    def _head(self) -> np.ndarray:
        head = self._parts(self.axes[: self._split])
        head[:, 0] = 1
        return head

    @property
    def step(self) -> int:
        """How many cells a dense pass takes at a time: whole rows of trailing axes."""
        width = len(self._tail)
        return max(STEP // width, 1) * width

    def gram(self, start: int, weight: np.ndarray) -> np.ndarray:
        """The sum of weight · zz' over a block of consecutive cells, whole rows of trailing axes: one pass over the weights.

        A centre is the sum of its leading and its trailing axes' parts, so four small products suffice.
        """
        tail = self._tail
        table = weight.reshape(-1, len(tail))
        head = self._head[start // len(tail) :][: len(table)]
        across = head.T @ (table @ tail)
        leading = (head.T * table.sum(axis=1)) @ head
        trailing = (tail.T * table.sum(axis=0)) @ tail
        return np.asarray(leading + across + across.T + trailing)

    def _parts(self, axes: tuple[BinAxis, ...]) -> np.ndarray:
        sizes = [axis.size for axis in axes]
        parts = np.zeros((math.prod(sizes), self.geometry.features + 2))
        for axis, at in zip(axes, np.unravel_index(np.arange(len(parts)), sizes) if sizes else (), strict=True):
            parts[:, axis.columns] = axis.points[at]
        return parts


def spelled(cells: int) -> str:
    """A number of cells in a sentence, however large."""
    return f"{cells:,}" if cells < 10**9 else f"more than 10^{math.floor(math.log10(cells))}"


@dataclass(frozen=True)
class BinCounts:
    """Cells with a number each, in the cells' order: a sparse table."""

    index: np.ndarray = field(repr=False)
    """(cells, words)"""
    count: np.ndarray = field(repr=False)

    def less(self, other: BinCounts, grid: Binning) -> BinCounts:
        """How far each cell's number exceeds the other table's."""
        index = np.concatenate([self.index, other.index])
        return grid.tally(index, np.concatenate([self.count, -other.count]))


class BinAxis(ABC):
    """The cells of one attribute: which columns of (1, features, target) they divide, and the points they stand for."""

    columns: list[int]
    size: int
    points: np.ndarray
    """(size, columns)"""

    @abstractmethod
    def index(self, z: np.ndarray) -> np.ndarray:
        """The cell of each row."""


class EqualBins(BinAxis):
    """Equal bins of [-1, 1]; the upper end belongs to the last."""

    def __init__(self, column: int, size: int) -> None:
        self.columns, self.size = [column], size
        self.points = ((2 * np.arange(size) + 1) / size - 1)[:, None]

    def index(self, z: np.ndarray) -> np.ndarray:
        scaled = np.floor((z[:, self.columns[0]] + 1) * (self.size / 2))
        return np.clip(scaled, 0, self.size - 1).astype(np.int64)


class LevelBins(BinAxis):
    """Equally spaced values from ``low`` to 1, a cell each."""

    def __init__(self, column: int, low: float, size: int) -> None:
        self.columns, self.size, self.low = [column], size, low
        self.points = np.linspace(low, 1, size)[:, None]

    def index(self, z: np.ndarray) -> np.ndarray:
        scaled = np.rint((z[:, self.columns[0]] - self.low) * ((self.size - 1) / (1 - self.low)))
        return np.clip(scaled, 0, self.size - 1).astype(np.int64)


class OneHotBins(BinAxis):
    """None of the levels, then each of them."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.columns, self.size = list(columns), len(columns) + 1
        self.points = np.vstack([np.zeros(len(columns)), np.eye(len(columns))])

    def index(self, z: np.ndarray) -> np.ndarray:
        names = np.zeros(len(z), dtype=np.int64)
        for number, column in enumerate(self.columns, start=1):
            names[z[:, column] > 0.5] = number
        return names
