"""Second moments of rows: sums of products of two columns."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.base.read_only import read_only
from dpbench.data.geometry import Geometry

PRODUCT_BITS = 32
"""The binary digits after the point of a product of two scaled values, which have half as many."""
EXACT_ROWS = 2**21
"""The most rows whose sums of products, up to one each, are exact in float64."""
MAX_ROWS = 2**31 - 1
"""The most rows whose sums of products are exact as 64-bit multiples of 2^-32."""


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


def exact_gram(z: np.ndarray) -> np.ndarray:
    """Return z'z of rows on the grid of :data:`~dpbench.data.scaling.FRACTION_BITS`, as multiples of 2^-32.

    They are whole numbers, so sums over any parts of a table are exact in any order, up to :data:`MAX_ROWS` rows.
    """
    parts = (z[start : start + EXACT_ROWS] for start in range(0, len(z), EXACT_ROWS))
    return np.asarray(np.sum([whole_multiples(gram(part)) for part in parts], axis=0, dtype=np.int64))


def whole_multiples(sums: np.ndarray) -> np.ndarray:
    """Return sums of products over at most :data:`EXACT_ROWS` rows, which are exact in float64, as multiples of 2^-32."""
    return np.rint(sums * 2.0**PRODUCT_BITS).astype(np.int64)


def from_multiples(multiples: np.ndarray) -> np.ndarray:
    """Return multiples of 2^-32 as float64: rounded once, where there are more than 2^21 rows."""
    return multiples * 2.0**-PRODUCT_BITS
