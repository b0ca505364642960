"""Second moments of rows: sums of products of two columns."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.base.read_only import read_only
from dpbench.data.geometry import Geometry


@dataclass(frozen=True)
class Moments:
    """Second moments of the rows of each run: sums of products of two columns of (1, features, y)."""

    gram: np.ndarray
    """(runs, d + 2, d + 2)"""
    geometry: Geometry

    def __post_init__(self) -> None:
        read_only(self.gram)

    @property
    def n(self) -> np.ndarray:
        """The number of rows."""
        return self.gram[..., 0, 0]

    @cached_property
    def xx(self) -> np.ndarray:
        """X'X of the design, including the row and the column of its intercept."""
        return self._design(self._design(self.gram, -1), -2)

    @cached_property
    def xy(self) -> np.ndarray:
        """X'y."""
        return self._design(self.gram[..., :, -1], -1)

    @cached_property
    def x(self) -> np.ndarray:
        """The sums of the design's columns."""
        return self._design(self.gram[..., :, 0], -1)

    @property
    def yy(self) -> np.ndarray:
        """y'y."""
        return self.gram[..., -1, -1]

    @property
    def y(self) -> np.ndarray:
        """The sum of the target."""
        return self.gram[..., 0, -1]

    def _design(self, array: np.ndarray, axis: int) -> np.ndarray:
        """Take the design's part of an axis over (1, features[, y])."""
        first = 0 if self.geometry.intercept else 1
        part = np.take(array, np.arange(first, 1 + self.geometry.features), axis=axis)
        if self.geometry.intercept and self.geometry.constant != 1:
            factor = np.ones(part.shape[axis])
            factor[0] = self.geometry.constant
            part = part * (factor if axis == -1 else factor[:, None])
        return read_only(part)


def gram(z: np.ndarray) -> np.ndarray:
    """Return z'z."""
    return np.asarray(z.T @ z)
