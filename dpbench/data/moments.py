"""Second moments of rows: sums of products of two columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.data.geometry import Geometry


@dataclass(frozen=True)
class Moments:
    """Second moments of the rows of each run: sums of products of (1, features, y)."""

    gram: np.ndarray
    geometry: Geometry

    @property
    def n(self) -> np.ndarray:
        return self.gram[..., 0, 0]

    @cached_property
    def xx(self) -> np.ndarray:
        """X'X of the design, the intercept's row and column included."""
        return self._design(self._design(self.gram, -1), -2)

    @cached_property
    def xy(self) -> np.ndarray:
        return self._design(self.gram[..., :, -1], -1)

    @cached_property
    def x(self) -> np.ndarray:
        """The columns' sums."""
        return self._design(self.gram[..., :, 0], -1)

    @property
    def yy(self) -> np.ndarray:
        return self.gram[..., -1, -1]

    @property
    def y(self) -> np.ndarray:
        return self.gram[..., 0, -1]

    def _design(self, array: np.ndarray, axis: int) -> np.ndarray:
        """The design's part of an axis over (1, features[, y])."""
        width = self.geometry.features
        first = 0 if self.geometry.intercept else 1
        part = np.take(array, np.arange(first, 1 + width), axis=axis)
        if self.geometry.intercept and self.geometry.constant != 1:
            factor = np.ones(part.shape[axis])
            factor[0] = self.geometry.constant
            part = part * (factor if axis == -1 else factor[:, None])
        return part


def gram(z: np.ndarray) -> np.ndarray:
    return np.asarray(z.T @ z)
