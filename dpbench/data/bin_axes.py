"""The bins of one attribute: an axis of a histogram."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


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


def equal_bins(column: int, ends: tuple[float, float], size: int) -> BinAxis:
    """Return equal bins of a range; the upper end belongs to the last."""
    low, width = ends[0], ends[1] - ends[0]
    centres = low + width / 2 * ((2 * np.arange(size) + 1) / size)
    return _numeric_bins(column, centres, lambda values: np.floor((values - low) * (size / width)))


def level_bins(column: int, ends: tuple[float, float], size: int) -> BinAxis:
    """Return a bin for each of ``size`` equally spaced values, both ends included."""
    low, width = ends[0], ends[1] - ends[0]
    return _numeric_bins(column, np.linspace(*ends, size), lambda values: np.rint((values - low) * ((size - 1) / width)))


def _numeric_bins(column: int, centres: np.ndarray, position: Callable[[np.ndarray], np.ndarray]) -> BinAxis:
    """Return the bins of one column; a value's position is cut to the first or the last bin."""
    last = len(centres) - 1
    return BinAxis([column], centres[:, None], lambda z: np.clip(position(z[:, column]), 0, last).astype(np.int64))


def one_hot_bins(columns: list[int]) -> BinAxis:
    """Return a bin for "no level", then one for each level of a one-hot group."""

    def locate(z: np.ndarray) -> np.ndarray:
        bins = np.zeros(len(z), dtype=np.int64)
        for number, column in enumerate(columns, start=1):
            bins[z[:, column] > 0.5] = number
        return bins

    return BinAxis(columns, np.vstack([np.zeros(len(columns)), np.eye(len(columns))]), locate)


def bins_of(axes: Sequence[BinAxis]) -> int:
    """Return the number of bins that axes have together."""
    return math.prod(axis.size for axis in axes)


def place_centres(z: np.ndarray, axes: Sequence[BinAxis], index: np.ndarray) -> None:
    """Write the centres of the axes' bins, numbered by one integer each, into their columns."""
    if axes:  # NumPy cannot unravel an index over no axes
        for axis, at in zip(axes, np.unravel_index(index, [axis.size for axis in axes]), strict=True):
            z[:, axis.columns] = axis.centres[at]
