"""Scaling: from a table with public bounds to rows of numbers with few digits, whose sums are exact.

Values are clipped to their declared bounds, transformed if that is declared, mapped to [-1, 1] (box), into the unit ball
(ball) or to [0, 1/sqrt(d)] (corner: the box in the positive corner of the unit ball), and truncated towards zero to multiples
of 2^-16. So a product of two columns is a multiple of 2^-32, and every sum of them is exact: in float64 for up to 2^21 rows, as a
64-bit whole number for up to 2^31, the same whatever the order, the chunks, the threads or the machine. Truncation towards zero
keeps bounds and norms.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpbench.base.errors import Inapplicable, Refused
from dpbench.base.read_only import read_only
from dpbench.data.geometry import Geometry, Scaling, TargetKind
from dpbench.data.moments import MAX_ROWS, PRODUCT_BITS
from dpbench.data.table import Table

Groups = Mapping[str, tuple[int, ...]]
"""The positions of each one-hot group's columns."""

Columns = np.ndarray | Sequence[np.ndarray]
"""The columns of some rows, one after the other."""

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
    check_rows(table.n)
    scaler = Scaler(table, scaling, intercept, target)
    z = np.empty((table.rows, len(table.columns) + 2))  # filled in place: tables may be large
    scaler.fill(table.features.T, table.response, z)
    target_clipped = _share_outside(table.response, table.target.low, table.target.high) if target == "real" else 0.0
    geometry = scaler.geometry
    persons = None if table.persons is None else table.persons.count
    coefficients = _scaled_coefficients(table, geometry)
    return Rows(z, geometry, target_clipped, _features_clipped(table, scaling), persons, coefficients)


class Scaler:
    """How the rows of one table are scaled: by its declarations alone, so that its rows may come in chunks."""

    def __init__(self, table: Table, scaling: Scaling, intercept: bool, target: TargetKind) -> None:
        groups, low, high = _groups(table), table.target.low, table.target.high
        if scaling == "corner":
            _check_corner(groups, intercept)
        if target == "binary" and table.threshold is None:
            raise Refused(
                f"The target {table.target.name!r} is not binary: set dataset.threshold, in the range [{low:g}, {high:g}]."
            )
        self._table = table
        self._groups = groups
        self.geometry = _geometry(table, groups, scaling, intercept, target)

    def fill(self, features: Columns, response: np.ndarray, z: np.ndarray) -> None:
        """Write scaled rows into ``z``: a column of ones, the features, which come as columns, and the target."""
        table = self._table
        z[:, 0] = 1
        _map_features(table, features, self._groups, self.geometry, z[:, 1:-1])
        if self.geometry.target == "real":
            z[:, -1] = table.target.to_box(response)
        else:
            z[:, -1] = response > table.threshold
        truncate(z[:, 1:])


def check_rows(rows: int) -> None:
    """Refuse a table whose sums would not be exact."""
    if rows > MAX_ROWS:
        raise Refused(f"Sums over a table are exact for up to {MAX_ROWS:,} rows. Got {rows:,} rows instead.")


def _geometry(table: Table, groups: Groups, scaling: Scaling, intercept: bool, target: TargetKind) -> Geometry:
    constant = _intercept_constant(table, groups, scaling, intercept)
    return Geometry(
        columns=tuple(column.name for column in table.columns),
        groups=tuple(groups.values()),
        intercept=intercept,
        scaling=scaling,
        target=target,
        constant=float(truncate(np.array([constant]))[0]) if intercept else 1.0,
        target_column=table.target if target == "real" else None,
        attributes=tuple(column.attribute for column in table.columns),
        sensitive=table.sensitive,
        levels=tuple(column.levels for column in table.columns),
        rows_per_person=None if table.persons is None else table.persons.rows_each,
    )


def spreads_in_steps(rows: Rows) -> np.ndarray:
    """Return the standard deviation of each feature column in steps of the rows' grid: private, as the rows are."""
    sums, squares = np.zeros((2, rows.z.shape[1] - 2))
    for chunk in rows.chunks():
        features = chunk.z[:, 1:-1]
        sums += features.sum(axis=0)
        squares += np.einsum("ij,ij->j", features, features)
    return steps_of_spreads(sums, squares, rows.n)


def steps_of_spreads(sums: np.ndarray, squares: np.ndarray, n: int) -> np.ndarray:
    """Return standard deviations in steps of the grid, from sums over n rows of values and of their squares."""
    variances = squares / n - np.square(sums / n)
    return np.asarray(np.sqrt(np.maximum(variances, 0)) * 2.0**FRACTION_BITS)


def truncate(values: np.ndarray, bits: int = FRACTION_BITS) -> np.ndarray:
    """Truncate towards zero to multiples of 2^-bits, in place."""
    values *= 2.0**bits
    np.trunc(values, out=values)
    values *= 2.0**-bits
    return values


def _map_features(table: Table, features: Columns, groups: Groups, geometry: Geometry, out: np.ndarray) -> None:
    """Write the features as the scaling says."""
    if geometry.scaling == "ball" and table.radius is not None:
        # a declared norm: clip every row to it
        out[:] = np.asarray(features).T
        norms = np.sqrt(np.einsum("ij,ij->i", out, out))
        out /= (np.maximum(norms, table.radius) * _share_of_ball(geometry.intercept))[:, None]
        return
    for index, (column, values) in enumerate(zip(table.columns, features, strict=True)):  # one-hot columns keep 0 and 1
        out[:, index] = column.to_box(values) if column.group is None else np.clip(values.astype(float), 0, 1)
    if geometry.scaling == "corner":  # Zhang et al. 2012, footnote 1: (x - low) / ((high - low) sqrt(d))
        out += 1
        out /= 2 * math.sqrt(len(table.columns))
    elif geometry.scaling == "ball":
        out /= _ball_norm(table, groups, geometry.intercept)


def _intercept_constant(table: Table, groups: Groups, scaling: Scaling, intercept: bool) -> float:
    """Return the value in the intercept's column, which shares the ball."""
    if scaling != "ball":
        return 1.0
    return 1 / (_ball_norm(table, groups, intercept) if table.radius is None else _share_of_ball(intercept))


def _share_of_ball(intercept: bool) -> float:
    """Return what a declared norm divides by: the features and an intercept share the ball equally."""
    return math.sqrt(2) if intercept else 1.0


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
