"""Cells by repeated halving: how the features' public domain is cut in two, again and again, in an order that is public."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import FRACTION_BITS, Rows

MAX_DEPTH = 52
"""The most halvings: a cell's code is exact as a floating-point number."""


@dataclass(frozen=True)
class Halving:
    """The cells that halving the widest column makes, level by level, of rows that are scaled to the box or the corner.

    All cells of a level halve the same column, because widths depend on the level alone: the widest one, and the first among
    equals. A column with L public levels is halved until each has a cell of its own, a one-hot column once. A row's code holds
    one bit for each level, the first one on top, so a cell is a range of codes: the cell of level t that holds code c is that of
    all codes with the same first t bits. Cells in the order of their codes are described by the first code of each.
    """

    geometry: Geometry
    depth: int = MAX_DEPTH
    """The number of levels, at most; there are fewer where the columns have fewer values."""

    def __post_init__(self) -> None:
        if self.geometry.scaling == "ball":
            raise ValueError("Halving divides the declared ranges of columns, which the ball does not keep.")
        if not 1 <= self.depth <= MAX_DEPTH:
            raise ValueError(f"The depth must be from 1 to {MAX_DEPTH}. Got {self.depth} instead.")

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The feature column that each level halves."""
        low, high = self.ends
        width, left = high - low, self._limits.copy()
        order: list[int] = []
        while len(order) < self.depth and left.any():
            column = int(np.argmax(np.where(left > 0, width, -1.0)))
            width[column] /= 2
            left[column] -= 1
            order.append(column)
        return tuple(order)

    @property
    def end(self) -> int:
        """The first number that is no code."""
        return 1 << len(self.order)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper end of each feature column."""
        low, high = (np.full(self.geometry.features, end) for end in self.geometry.value_range)
        for members in self.geometry.groups:
            low[list(members)], high[list(members)] = 0.0, 1.0
        return low, high

    def locate(self, rows: Rows) -> np.ndarray:
        """Return the code of each row: (rows, 1)."""
        halvings = np.bincount(np.array(self.order, dtype=int), minlength=self.geometry.features)
        code = np.zeros(rows.n, dtype=np.int64)
        low, high = self.ends
        position: dict[int, np.ndarray] = {}
        for column in self.order:
            if column not in position:
                parts = 1 << int(halvings[column])
                exact = (rows.z[:, 1 + column] - low[column]) * (parts / (high[column] - low[column]))
                position[column] = np.clip(exact, 0, parts - 1).astype(np.int64)
            halvings[column] -= 1
            code <<= 1
            code |= (position[column] >> halvings[column]) & 1
        return code[:, None]

    def depths(self, starts: np.ndarray) -> np.ndarray:
        """Return the level of each cell, from the first codes of all of them in order: (cells,)."""
        sizes = np.maximum(np.diff(np.append(starts, self.end)), 1)
        return np.asarray(len(self.order) - np.floor(np.log2(sizes)).astype(int))

    def boxes(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper ends of cells, from the first codes of all of them in order: (cells, features)."""
        low, high = (np.tile(end, (len(starts), 1)) for end in self.ends)
        depths = self.depths(starts)
        for level, column in enumerate(self.order[: depths.max(initial=0)]):
            upper = (starts.astype(np.int64) >> (len(self.order) - 1 - level)) & 1 == 1
            middle = (low[:, column] + high[:, column]) / 2
            low[:, column] = np.where((depths > level) & upper, middle, low[:, column])
            high[:, column] = np.where((depths > level) & ~upper, middle, high[:, column])
        return low, high

    @property
    def _limits(self) -> np.ndarray:
        """How often each column can be halved."""
        levels = np.array(self.geometry.levels or (0,) * self.geometry.features, dtype=int)
        limits = np.where(levels > 1, np.ceil(np.log2(np.maximum(levels, 1))), FRACTION_BITS).astype(int)
        for members in self.geometry.groups:
            limits[list(members)] = 1
        return np.asarray(np.minimum(limits, FRACTION_BITS))
