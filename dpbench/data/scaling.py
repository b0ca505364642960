"""Scaling: from a table with public bounds to rows on a dyadic grid.

Values are clipped to their declared bounds, mapped to [-1, 1] (box) or into the unit ball (ball), and truncated towards
zero to multiples of 2^-k with 2k + log2 n <= 53 and k <= 16. So every sum of products of two columns is exact in float64:
the same whatever the order, the chunks, the threads or the machine. Truncation towards zero keeps bounds and norms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry, Scaling, TargetKind
from dpbench.data.table import Table

FINEST = 16


@dataclass(frozen=True)
class Rows:
    """Scaled rows: ``z`` holds a column of ones, the features, the target."""

    z: np.ndarray = field(repr=False)
    geometry: Geometry
    clipped: float = 0.0
    """The share of targets that lay outside the declared bounds."""

    @property
    def n(self) -> int:
        return len(self.z)

    @property
    def x(self) -> np.ndarray:
        """The design matrix, its intercept column included."""
        if not self.geometry.intercept:
            return self.z[:, 1:-1]
        if self.geometry.constant == 1:
            return self.z[:, :-1]
        design = self.z[:, :-1].copy()
        design[:, 0] = self.geometry.constant
        return design

    @property
    def y(self) -> np.ndarray:
        return self.z[:, -1]

    def take(self, index: np.ndarray) -> Rows:
        return Rows(self.z[index], self.geometry)


def grid_bits(rows: int) -> int:
    """k: the finest grid on which Gram sums of this many rows are exact."""
    return min(FINEST, (53 - math.ceil(math.log2(max(rows, 2)))) // 2)


def truncate(values: np.ndarray, bits: int) -> np.ndarray:
    """Truncate towards zero to multiples of 2^-bits, in place."""
    values *= 2.0**bits
    np.trunc(values, out=values)
    values *= 2.0**-bits
    return values


def scale(table: Table, scaling: Scaling, intercept: bool, target: TargetKind) -> Rows:
    """The table's rows, clipped, scaled and on the grid; a binary target is whether the table's threshold is exceeded."""
    n, d = table.features.shape
    bits = grid_bits(n)
    z = np.empty((n, d + 2))
    z[:, 0] = 1
    features = z[:, 1:-1]
    constant = 1.0
    if scaling == "ball" and table.radius is not None:
        # a declared norm: clip every row to it; with an intercept the two parts share the unit ball equally
        features[:] = table.features
        share = math.sqrt(2) if intercept else 1.0
        norms = np.sqrt(np.einsum("ij,ij->i", features, features))
        features /= (np.maximum(norms, table.radius) * share)[:, None]
        constant = 1 / share
    else:
        groups = _groups(table)
        for index, column in enumerate(table.columns):
            features[:, index] = _boxed(table.features[:, index], column.low, column.high, column.group is not None)
        if scaling == "ball":
            numeric = sum(column.group is None for column in table.columns)
            norm = math.sqrt(numeric + len(groups) + intercept)  # ALGORITHMS 0: x <- box(x) / sqrt(D); one 1 a one-hot group
            features /= norm
            constant = 1 / norm
    truncate(features, bits)
    z[:, -1] = truncate(_target(table, target), bits)
    constant = float(truncate(np.array([constant]), bits)[0]) if intercept else 1.0
    half_range = (table.target.high - table.target.low) / 2 if target == "real" else 1.0
    geometry = Geometry(
        columns=tuple(column.name for column in table.columns),
        groups=_groups(table),
        intercept=intercept,
        scaling=scaling,
        target=target,
        constant=constant,
        half_range=half_range,
        attributes=tuple(column.attribute for column in table.columns),
        sensitive=table.sensitive,
        levels=tuple(column.levels for column in table.columns),
    )
    outside = (table.response < table.target.low) | (table.response > table.target.high)
    return Rows(z, geometry, float(outside.mean()) if target == "real" else 0.0)


def _groups(table: Table) -> tuple[tuple[int, ...], ...]:
    members: dict[str, list[int]] = {}
    for index, column in enumerate(table.columns):
        if column.group is not None:
            members.setdefault(column.group, []).append(index)
    return tuple(tuple(group) for group in members.values())


def _boxed(values: np.ndarray, low: float, high: float, one_hot: bool) -> np.ndarray:
    clipped = np.clip(values.astype(float), low, high)
    return np.asarray(clipped if one_hot else np.clip((clipped - low) * (2 / (high - low)) - 1, -1, 1))


def _target(table: Table, kind: TargetKind) -> np.ndarray:
    column = table.target
    if kind == "real":
        return _boxed(table.response, column.low, column.high, one_hot=False)
    if table.threshold is None:
        raise Refused(
            f"The target {column.name!r} is not binary: set dataset.threshold, in the range [{column.low:g}, {column.high:g}]."
        )
    return (table.response > table.threshold).astype(float)
