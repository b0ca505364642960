"""A table: the private columns, and the public bounds that are declared for them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from dpbench.base.errors import Refused, check_known
from dpbench.data.column_format import ColumnFormat
from dpbench.data.persons import Persons
from dpbench.data.transforms import Transform
from dpbench.records.leaks import ROWS_DROPPED, Leak

MIN_RELATIVE_WIDTH = 1e-12
"""The smallest width of bounds, relative to their size: in a narrower range, rounding errors would be as large as the range."""


class WrongTable(Refused):
    """Columns, bounds and rows that make no table, wherever they come from."""


ColumnKind = Literal["continuous", "integer", "ordinal", "binary"]


@dataclass(frozen=True)
class Column:
    """A column and its public bounds; the one-hot columns of an attribute have its name as their group.

    Every kind but ``continuous`` declares that the values are whole numbers between the bounds.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    group: str | None = None
    kind: ColumnKind = "continuous"
    meaning: str = ""
    """What the values stand for, if the name does not say it: a line of the codebook."""
    transform: Transform | None = None
    """What the values are mapped by before they are scaled, declared from public knowledge."""

    def __post_init__(self) -> None:
        low, high, problem = self.low, self.high, ""
        width = high - low
        if not (math.isfinite(width) and width > MIN_RELATIVE_WIDTH * max(abs(low), abs(high), 1e-290)):
            problem = f"The bounds of column {self.name!r} must be two finite numbers, the lower one first."
        elif self.group is not None and (low, high) != (0, 1):
            problem = f"Column {self.name!r} is one-hot, so its bounds must be [0, 1]."
        elif self.kind != "continuous" and not (float(low).is_integer() and float(high).is_integer()):
            problem = f"Column {self.name!r} is declared {self.kind}, so its bounds must be whole numbers."
        if problem:
            raise WrongTable(f"{problem} Got [{low}, {high}] instead.")
        if self.transform is not None:
            self.transform.check(self.name, low, high)

    @property
    def attribute(self) -> str:
        """The attribute that the column belongs to: its group, or itself."""
        return self.group or self.name

    @property
    def levels(self) -> int:
        """The number of evenly spaced values that the declaration allows; 0 for a continuous or a transformed column."""
        if self.group is not None:
            return 2
        return 0 if self.kind == "continuous" or self.transform else round(self.high - self.low) + 1

    def to_box(self, values: np.ndarray) -> np.ndarray:
        """Clip values to the bounds, transform them, and map them to [-1, 1]."""
        scaled = np.clip(values.astype(float, copy=False), self.low, self.high)
        if self.transform is not None:
            scaled = self.transform.apply(scaled)
        low, high = self._transformed_bounds
        scaled -= low  # in place: columns may be large
        scaled *= 2 / (high - low)
        scaled -= 1
        return np.asarray(np.clip(scaled, -1, 1, out=scaled))

    def from_box(self, scaled: np.ndarray) -> np.ndarray:
        """Map numbers that stand for values between the bounds, when they are in [-1, 1], back to the column's unit."""
        low, high = self._transformed_bounds
        values = low + (scaled + 1) / 2 * (high - low)
        return values if self.transform is None else self.transform.invert(values)

    @property
    def _transformed_bounds(self) -> tuple[float, float]:
        if self.transform is None:
            return self.low, self.high
        low, high = self.transform.apply(np.array([self.low, self.high], dtype=float))
        return float(low), float(high)


@dataclass(frozen=True)
class Table:
    """Features and a target with declared bounds; values outside them are clipped when they are scaled."""

    columns: tuple[Column, ...]
    target: Column
    features: np.ndarray = field(repr=False)
    response: np.ndarray = field(repr=False)
    radius: float | None = None
    """A declared bound on the L2 norm of a feature row, which ball scaling uses instead of the columns' bounds."""
    sensitive: tuple[str, ...] = ()
    """The attributes declared sensitive, for attacks and attribute-wise mechanisms."""
    threshold: float | None = None
    """A public value in the target's unit: a binary target says whether it is exceeded."""
    leaks: tuple[Leak, ...] = ()
    dropped: int = 0
    """The number of rows that were left out because a value was missing."""
    formats: Mapping[str, ColumnFormat] = field(default_factory=dict)
    """How the cells of attributes are read, where the columns do not say it: a released model reads its rows so."""
    declared_n: bool = False
    """Whether n was declared although rows were left out, and a row of the source is at most one row here: then n is public."""
    persons: Persons | None = None
    """Which person each row belongs to; None where each row is a person of its own."""
    beyond_limit: int = 0
    """The number of rows that were left out because their person already had the most rows that count."""
    coefficients: tuple[float, ...] | None = None
    """The true coefficients of a synthetic table, in the units of its columns: the intercept, then one for each column.

    They are those of the target or, if that is declared binary, of its log odds. None where they are not known.
    """

    def __post_init__(self) -> None:
        if (
            self.dropped
            and not self.declared_n
            and not self.persons
            and all(leak.what != ROWS_DROPPED.what for leak in self.leaks)
        ):
            object.__setattr__(self, "leaks", (*self.leaks, ROWS_DROPPED))
        names = [column.name for column in (*self.columns, self.target)]
        if len(set(names)) < len(names):
            raise WrongTable(f"Column names must differ. Got {', '.join(names)} instead.")
        rows, features = len(self.response), len(self.columns)
        for array, shape in ((self.features, (rows, features)), (self.response, (rows,))):
            if array.dtype.kind not in "fiub":
                raise WrongTable(f"A table's columns must be numbers. Got the type {array.dtype} instead.")
            if array.shape != shape:
                raise WrongTable(f"A table needs {features} feature columns and one target of equal length. Got other shapes.")
        if rows < 2 or not features:
            raise WrongTable(f"A table needs at least 2 rows and 1 feature. Got {rows} rows, {features} features.")
        if self.persons is not None and len(self.persons.of_row) != rows:
            raise WrongTable(f"A table must name the person of each of its {rows} rows. Got {len(self.persons.of_row)} of them.")
        if self.radius is not None and any(column.transform for column in self.columns):
            raise WrongTable("A table whose rows have a declared norm cannot have transformed columns.")
        if self.coefficients is not None and len(self.coefficients) != features + 1:
            needed = f"A table of {features} columns has {features + 1} coefficients."
            raise WrongTable(f"{needed} Got {len(self.coefficients)} instead.")
        check_known("attribute", self.sensitive, self.attributes)
        if bad := int((~np.isfinite(self.features)).sum() + (~np.isfinite(self.response)).sum()):
            raise WrongTable(f"A table must hold finite numbers only. Got {bad} missing or infinite values.")
        # sensitivities count on at most a single 1 per row in each one-hot group
        for group in dict.fromkeys(column.group for column in self.columns if column.group is not None):
            members = self.features[:, [column.group == group for column in self.columns]]
            if bad := int((~np.isin(members, (0, 1)).all(axis=1) | (members.sum(axis=1) > 1)).sum()):
                raise WrongTable(f"One-hot columns hold 0 or 1, at most one 1 per row. Got {bad} rows of {group!r} that do not.")

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.response)

    @property
    def n(self) -> int:
        """The number of rows that the table counts as: public. It is the number of rows, unless persons may have several."""
        return self.rows if self.persons is None else self.persons.n

    @property
    def units(self) -> int:
        """The number of rows, or of persons: what is sampled and split as a whole."""
        return self.rows if self.persons is None else self.persons.count

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes in order; a one-hot group is one attribute."""
        return tuple(dict.fromkeys(column.attribute for column in self.columns))

    def take(self, index: np.ndarray) -> Self:
        """Return the table with these rows only."""
        persons = self.persons and self.persons.take(index)
        return replace(self, features=self.features[index], response=self.response[index], persons=persons)

    def take_units(self, index: np.ndarray) -> Self:
        """Return the table with these rows only, or with the rows of these persons only, in the table's order."""
        index = np.sort(index)
        if self.persons is None:
            return self.take(index)
        of_row = self.persons.of_row
        chosen = np.isin(of_row, index)
        persons = replace(self.persons, of_row=np.searchsorted(index, of_row[chosen]), count=len(index))
        return replace(self, features=self.features[chosen], response=self.response[chosen], persons=persons)

    def select(self, attributes: Sequence[str]) -> Self:
        """Return the table with these attributes only, in the table's order."""
        check_known("attribute", attributes, self.attributes)
        selected = [index for index, column in enumerate(self.columns) if column.attribute in attributes]
        # the true model of fewer columns is another one, and it need not be linear
        complete = len(selected) == len(self.columns)
        return replace(
            self,
            coefficients=self.coefficients if complete else None,
            columns=tuple(self.columns[index] for index in selected),
            features=self.features[:, selected],
            sensitive=tuple(name for name in self.sensitive if name in attributes),
        )
