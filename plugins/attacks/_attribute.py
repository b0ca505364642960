"""An attribute as an attack sees it: its candidate values, and the candidate that each row has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows


@dataclass(frozen=True, eq=False)
class Attribute:
    """The feature columns of an attribute, and what each candidate value puts into them."""

    name: str
    features: np.ndarray
    """Positions among the features."""
    values: np.ndarray
    """(candidates, columns), in rising order."""
    one_hot: bool
    middle: float
    """The middle of the values that the scaling allows in one of the columns."""
    half_range: float
    """Half of the range of these values."""
    declared: bool
    """Whether the candidates are declared values. Otherwise they are the middles of bins."""

    @classmethod
    def of(cls, name: str, geometry: Geometry, bins: int) -> Attribute:
        """Build the attribute of this name.

        The candidates of a one-hot group are "no level" and then its levels. Those of a column are its declared values, or
        ``bins`` equal bins if it declares more values or none.
        """
        features = np.array(geometry.positions(name)) - geometry.intercept
        low, high = geometry.value_range
        if geometry.scaling == "ball":
            high = float(1 / np.sqrt(geometry.numeric + len(geometry.groups) + geometry.intercept))
            low = -high
        middle, half_range = (low + high) / 2, (high - low) / 2
        if any(features[0] in group for group in geometry.groups):
            levels = np.eye(len(features)) * high
            return cls(name, features, np.vstack([np.zeros(len(features)), levels]), True, middle, half_range, True)
        count = geometry.levels[features[0]] if geometry.levels else 0
        declared = 2 <= count <= bins
        positions = np.linspace(-1, 1, count) if declared else (2 * np.arange(bins) + 1) / bins - 1
        values = middle + positions * half_range
        return cls(name, features, values[:, None], False, middle, half_range, declared)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.values)

    def candidates(self, rows: Rows) -> np.ndarray:
        """Return the index of the candidate that each row has: of its value, or of the bin that contains it."""
        if self.one_hot:
            members = rows.z[:, 1 + self.features] > 0
            return np.asarray(np.where(members.any(axis=1), 1 + members.argmax(axis=1), 0))
        share = ((rows.z[:, 1 + self.features[0]] - self.middle) / self.half_range + 1) / 2
        index = np.rint(share * (self.size - 1)) if self.declared else np.floor(share * self.size)
        return np.asarray(np.clip(index, 0, self.size - 1).astype(int))
