"""An attribute as an attack sees it: its candidate values, and which of them each row has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.base.errors import near_names
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows


@dataclass(frozen=True, eq=False)
class Attribute:
    """The columns of an attribute and what each candidate value puts into them."""

    name: str
    features: np.ndarray
    """Positions among the features."""
    values: np.ndarray
    """(candidates, columns), rising."""
    one_hot: bool
    reach: float
    declared: bool
    """Whether the candidates are the values themselves, not the middles of bins."""

    @classmethod
    def of(cls, name: str, geometry: Geometry, bins: int) -> Attribute:
        """A one-hot group's levels, and before them none; a column's declared values, or ``bins`` equal bins if they are more."""
        features = np.array(geometry.positions(name)) - geometry.intercept
        reach = 1.0
        if geometry.scaling == "ball":
            reach = float(1 / np.sqrt(geometry.numeric + len(geometry.groups) + geometry.intercept))
        if any(features[0] in group for group in geometry.groups):
            levels = np.eye(len(features)) * reach
            return cls(name, features, np.vstack([np.zeros(len(features)), levels]), True, reach, True)
        count = geometry.levels[features[0]] if geometry.levels else 0
        declared = 2 <= count <= bins
        places = np.linspace(-1, 1, count) if declared else (2 * np.arange(bins) + 1) / bins - 1
        return cls(name, features, places[:, None] * reach, False, reach, declared)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.values)

    def level(self, rows: Rows) -> np.ndarray:
        """The candidate that each row has: its value, or the bin it lies in."""
        if self.one_hot:
            members = rows.z[:, 1 + self.features] > 0
            return np.asarray(np.where(members.any(axis=1), 1 + members.argmax(axis=1), 0))
        share = (rows.z[:, 1 + self.features[0]] / self.reach + 1) / 2
        place = np.rint(share * (self.size - 1)) if self.declared else np.floor(share * self.size)
        return np.asarray(np.clip(place, 0, self.size - 1).astype(int))


def chosen(named: str, geometry: Geometry) -> str:
    """The attribute that an option names, or the first that the dataset declares sensitive; empty where there is none."""
    return named or next(iter(geometry.sensitive), "")


def not_there(named: str, geometry: Geometry) -> str | None:
    """Why there is nothing to attack on such a table, as the end of a sentence; None where there is."""
    known = set(geometry.attributes or geometry.columns)
    name = chosen(named, geometry)
    if not name:
        reason = f"the dataset declares no sensitive attribute. Name one with attack.sensitive=….{near_names('', known)}"
    elif name not in known:
        reason = f"the table has no attribute named {name!r}.{near_names(name, known)}"
    else:
        return None
    return reason.removesuffix(".")
