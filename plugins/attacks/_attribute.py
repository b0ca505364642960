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
    max_abs: float
    """The largest absolute value that the scaling allows in one of the columns."""
    declared: bool
    """Whether the candidates are declared values. Otherwise they are the middles of bins."""

    @classmethod
    def of(cls, name: str, geometry: Geometry, bins: int) -> Attribute:
        """Build the attribute of this name.

        The candidates of a one-hot group are "no level" and then its levels. Those of a column are its declared values, or
        ``bins`` equal bins if it declares more values or none.
        """
        features = np.array(geometry.positions(name)) - geometry.intercept
        max_abs = 1.0
        if geometry.scaling == "ball":
            max_abs = float(1 / np.sqrt(geometry.numeric + len(geometry.groups) + geometry.intercept))
        if any(features[0] in group for group in geometry.groups):
            levels = np.eye(len(features)) * max_abs
            return cls(name, features, np.vstack([np.zeros(len(features)), levels]), True, max_abs, True)
        count = geometry.levels[features[0]] if geometry.levels else 0
        declared = 2 <= count <= bins
        positions = np.linspace(-1, 1, count) if declared else (2 * np.arange(bins) + 1) / bins - 1
        return cls(name, features, positions[:, None] * max_abs, False, max_abs, declared)

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.values)

    def candidates(self, rows: Rows) -> np.ndarray:
        """Return the index of the candidate that each row has: of its value, or of the bin that contains it."""
        if self.one_hot:
            members = rows.z[:, 1 + self.features] > 0
            return np.asarray(np.where(members.any(axis=1), 1 + members.argmax(axis=1), 0))
        share = (rows.z[:, 1 + self.features[0]] / self.max_abs + 1) / 2
        index = np.rint(share * (self.size - 1)) if self.declared else np.floor(share * self.size)
        return np.asarray(np.clip(index, 0, self.size - 1).astype(int))
