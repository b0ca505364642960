"""Scaling: from a table with public bounds to rows of numbers with few digits, whose sums are exact.

Values are clipped to their declared bounds, transformed if that is declared, mapped to [-1, 1] (box), into the unit ball
(ball) or to [0, 1/sqrt(d)] (corner: the box in the positive corner of the unit ball), and truncated towards zero to multiples
of 2^-16. So a product of two columns is a multiple of 2^-32, and every sum of them is exact: in float64 for up to 2^21 rows, as a
64-bit whole number for up to 2^31, the same whatever the order, the chunks, the threads or the machine. Truncation towards zero
keeps bounds and norms.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpbench.base.errors import Inapplicable, Refused
from dpbench.base.read_only import read_only
from dpbench.data.geometry import Geometry, Scaling, TargetKind
from dpbench.data.moments import MAX_ROWS, PRODUCT_BITS
from dpbench.data.table import Table

Groups = Mapping[str, tuple[int, ...]]
"""The positions of each one-hot group's columns."""

FRACTION_BITS = PRODUCT_BITS // 2
"""The binary digits after the point of a scaled value."""
ROUNDING = 1e-12
"""A sum that is smaller than this, relative to its terms, differs from zero by rounding errors only."""
CHUNK = 16_384
"""Rows whose contributions are formed and summed at a time: a constant, so that no sum depends on the engine."""


@dataclass(frozen=True)
class Rows:
    """Scaled rows: ``z`` holds a column of ones, the features, the target."""

    z: np.ndarray = field(repr=False)
    geometry: Geometry
    target_clipped: float = 0.0
    """The share of targets that lay outside the declared bounds: private, as the rows are."""
    features_clipped: tuple[float, ...] = ()
    """The same for each feature column; under a declared norm of a row, the share of longer rows. Empty for parts of a table."""
    persons: int | None = None
    """The number of persons whose rows these are; None where each row is a person of its own."""
    coefficients: np.ndarray | None = field(default=None, repr=False)
    """The true coefficients (D,) of the scaled rows, where the table's are known; None for parts of a table."""

    def __post_init__(self) -> None:
        read_only(self.z)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.z)

    @property
    def public_n(self) -> int:
        """The number of rows that these count as: all of them, or as many for each person as a person has at most."""
        return self.n if self.persons is None else self.persons * self.geometry.replaced_rows

    @property
    def x(self) -> np.ndarray:
        """The design, including the column of its intercept."""
        if not self.geometry.intercept:
            return self.z[:, 1:-1]
        if self.geometry.constant == 1:
            return self.z[:, :-1]
        design = self.z[:, :-1].copy()
        design[:, 0] *= self.geometry.constant
        return read_only(design)

    @property
    def y(self) -> np.ndarray:
        """The target."""
        return self.z[:, -1]

    def take(self, index: np.ndarray | slice, persons: int | None = None) -> "Rows":
        """Return these rows only. To take all rows of some persons, say how many persons they are."""
        if isinstance(index, slice):
            return Rows(self.z[index], self.geometry, persons=persons)
        # np.take copies whole rows, several times faster than indexing with an array
        positions = np.flatnonzero(index) if index.dtype == bool else index
        return Rows(np.take(self.z, positions, axis=0), self.geometry, persons=persons)

    def chunks(self) -> Iterator["Rows"]:
        """Yield the rows in order, :data:`CHUNK` at a time."""
        return (self.take(slice(start, start + CHUNK)) for start in range(0, self.n, CHUNK))


def scale(table: Table, scaling: Scaling, intercept: bool, target: TargetKind) -> Rows:
    """Clip, map and truncate the rows of a table; a binary target says whether the table's threshold is exceeded."""
    groups = _groups(table)
    if scaling == "corner":
        _check_corner(groups, intercept)
    if table.n > MAX_ROWS:
        raise Refused(f"Sums over a table are exact for up to {MAX_ROWS:,} rows. Got {table.n:,} rows instead.")
    z = np.empty((table.rows, len(table.columns) + 2))  # filled in place: tables may be large
    z[:, 0] = 1
    constant = _map_features(table, groups, scaling, intercept, z[:, 1:-1])
    truncate(z[:, 1:-1])
    constant = float(truncate(np.array([constant]))[0]) if intercept else 1.0
    target_clipped, low, high = 0.0, table.target.low, table.target.high
    if target == "real":
        z[:, -1] = table.target.to_box(table.response)
        target_clipped = _share_outside(table.response, low, high)
    elif table.threshold is None:
        raise Refused(f"The target {table.target.name!r} is not binary: set dataset.threshold, in the range [{low:g}, {high:g}].")
    else:
        z[:, -1] = table.response > table.threshold
    truncate(z[:, -1])
    geometry = Geometry(
        columns=tuple(column.name for column in table.columns),
        groups=tuple(groups.values()),
        intercept=intercept,
        scaling=scaling,
        target=target,
        constant=constant,
        target_column=table.target if target == "real" else None,
        attributes=tuple(column.attribute for column in table.columns),
        sensitive=table.sensitive,
        levels=tuple(column.levels for column in table.columns),
        rows_per_person=None if table.persons is None else table.persons.rows_each,
    )
    persons = None if table.persons is None else table.persons.count
    coefficients = _scaled_coefficients(table, geometry)
    return Rows(z, geometry, target_clipped, _features_clipped(table, scaling), persons, coefficients)


def spreads_in_steps(rows: Rows) -> np.ndarray:
    """Return the standard deviation of each feature column in steps of the rows' grid: private, as the rows are."""
    sums, squares = np.zeros((2, rows.z.shape[1] - 2))
    for chunk in rows.chunks():
        features = chunk.z[:, 1:-1]
        sums += features.sum(axis=0)
        squares += np.einsum("ij,ij->j", features, features)
    variances = squares / rows.n - np.square(sums / rows.n)
    return np.asarray(np.sqrt(np.maximum(variances, 0)) * 2.0**FRACTION_BITS)


def truncate(values: np.ndarray, bits: int = FRACTION_BITS) -> np.ndarray:
    """Truncate towards zero to multiples of 2^-bits, in place."""
    values *= 2.0**bits
    np.trunc(values, out=values)
    values *= 2.0**-bits
    return values


def _map_features(table: Table, groups: Groups, scaling: Scaling, intercept: bool, out: np.ndarray) -> float:
    """Write the features as the scaling says; return the constant of the intercept, which shares the ball."""
    if scaling == "ball" and table.radius is not None:
        # a declared norm: clip every row to it; the features and an intercept share the ball equally
        out[:] = table.features
        share = math.sqrt(2) if intercept else 1.0
        norms = np.sqrt(np.einsum("ij,ij->i", out, out))
        out /= (np.maximum(norms, table.radius) * share)[:, None]
        return 1 / share
    for index, column in enumerate(table.columns):  # one-hot columns keep 0 and 1
        values = table.features[:, index]
        out[:, index] = column.to_box(values) if column.group is None else np.clip(values.astype(float), 0, 1)
    if scaling == "box":
        return 1.0
    if scaling == "corner":  # Zhang et al. 2012, footnote 1: (x - low) / ((high - low) sqrt(d))
        out += 1
        out /= 2 * math.sqrt(len(table.columns))
        return 1.0
    norm = _ball_norm(table, groups, intercept)
    out /= norm
    return 1 / norm


def _ball_norm(table: Table, groups: Groups, intercept: bool) -> float:
    """Return what the ball divides by: x <- box(x) / sqrt(D), where each one-hot group has one 1."""
    return math.sqrt(sum(column.group is None for column in table.columns) + len(groups) + intercept)


def _scaled_coefficients(table: Table, geometry: Geometry) -> np.ndarray | None:
    """Return the true coefficients of the scaled rows; None where they are not known, or the scaled model is another one.

    It is another one if scaling is not affine (a transform, a declared norm), if the target is of the other kind, or if the
    scaled rows need an intercept and have none.
    """
    transformed = any(column.transform for column in (*table.columns, table.target))
    by_norm = geometry.scaling == "ball" and table.radius is not None
    if table.coefficients is None or transformed or by_norm or (table.target.kind == "binary") != (geometry.target == "binary"):
        return None
    slopes = np.array(table.coefficients[1:])
    origin, unit = origins_and_units(table, geometry)  # column = origin + unit * scaled column, and the same for the target
    centre, half_range = 0.0, 1.0
    if geometry.target == "real":
        centre, half_range = (table.target.low + table.target.high) / 2, (table.target.high - table.target.low) / 2
    terms = np.array([table.coefficients[0], -centre, *(slopes * origin)])
    constant, scaled = float(terms.sum()) / half_range, slopes * unit / half_range
    if geometry.intercept:
        return np.array([constant / geometry.constant, *scaled])
    return scaled if abs(constant) <= ROUNDING * float(np.abs(terms).sum()) / half_range else None


def origins_and_units(table: Table, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Return the value of each column that is scaled to 0, and what one scaled unit is worth in the column's own unit.

    A transformed column has neither, and under a declared norm of a row no column has.
    """
    low = np.array([column.low for column in table.columns], dtype=float)
    high = np.array([column.high for column in table.columns], dtype=float)
    if geometry.scaling == "corner":
        return low, (high - low) * math.sqrt(len(table.columns))
    one_hot = np.array([column.group is not None for column in table.columns])
    origin, unit = np.where(one_hot, 0.0, (low + high) / 2), np.where(one_hot, 1.0, (high - low) / 2)
    return origin, unit if geometry.scaling == "box" else unit * _ball_norm(table, _groups(table), geometry.intercept)


def _features_clipped(table: Table, scaling: Scaling) -> tuple[float, ...]:
    """Return the share of each column's values that scaling changes because they lie outside what is declared."""
    if scaling == "ball" and table.radius is not None:
        longer = float((np.einsum("ij,ij->i", table.features, table.features) > table.radius**2).mean())
        return (longer,) * len(table.columns)
    values = zip(table.features.T, table.columns, strict=True)
    return tuple(_share_outside(column_values, column.low, column.high) for column_values, column in values)


def _share_outside(values: np.ndarray, low: float, high: float) -> float:
    return float(((values < low) | (values > high)).mean())


def _check_corner(groups: Groups, intercept: bool) -> None:
    if intercept:
        raise Inapplicable("With dataset.scaling=corner there is no intercept: set model.intercept=false.")
    if groups:
        raise Inapplicable(
            f"With dataset.scaling=corner every column must be numeric, but {next(iter(groups))!r} is a one-hot group: choose "
            "other attributes, a numeric coding, or dataset.scaling=box."
        )


def _groups(table: Table) -> Groups:
    members: dict[str, list[int]] = {}
    for index, column in enumerate(table.columns):
        if column.group is not None:
            members.setdefault(column.group, []).append(index)
    return {name: tuple(positions) for name, positions in members.items()}
