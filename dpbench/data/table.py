"""A table: the private columns, and the public bounds that are declared for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dpbench.base.errors import Refused, unknown
from dpbench.records.leaks import ROWS_DROPPED, Leak

RESOLUTION = 1e-12
"""The smallest width of bounds, relative to them: below it rounding would fill the range."""


ColumnKind = Literal["continuous", "integer", "ordinal", "binary"]


@dataclass(frozen=True)
class Column:
    """A column and its public bounds; one-hot columns of one attribute carry its name as their group.

    Every kind but ``continuous`` declares that the values are whole numbers between the bounds.
    """

    name: str
    low: float
    high: float
    unit: str = ""
    group: str | None = None
    kind: ColumnKind = "continuous"
    meaning: str = ""
    """What the values stand for, where the name does not say it: a line of the codebook."""

    def __post_init__(self) -> None:
        width = self.high - self.low
        if not (math.isfinite(width) and width > RESOLUTION * max(abs(self.low), abs(self.high), 1e-290)):
            raise Refused(
                f"The bounds of column {self.name!r} must be two finite numbers, the lower one first. "
                f"Got [{self.low}, {self.high}] instead."
            )
        if self.group is not None and (self.low, self.high) != (0, 1):
            raise Refused(
                f"Column {self.name!r} is one-hot, so its bounds must be [0, 1]. Got [{self.low}, {self.high}] instead."
            )
        if self.kind != "continuous" and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise Refused(
                f"Column {self.name!r} is declared {self.kind}, so its bounds must be whole numbers. "
                f"Got [{self.low}, {self.high}] instead."
            )

    @property
    def attribute(self) -> str:
        """The attribute it belongs to: its group, or itself."""
        return self.group or self.name

    @property
    def levels(self) -> int:
        """How many values it can take by its declaration; 0 for a continuous one."""
        if self.group is not None:
            return 2
        return 0 if self.kind == "continuous" else round(self.high - self.low) + 1


@dataclass(frozen=True)
class Table:
    """Features and a target with declared bounds; values outside them are clipped when they are scaled."""

    columns: tuple[Column, ...]
    target: Column
    features: np.ndarray = field(repr=False)
    response: np.ndarray = field(repr=False)
    radius: float | None = None
    """A declared L2 norm of a feature row, which ball scaling uses instead of the columns' bounds."""
    sensitive: tuple[str, ...] = ()
    """Attributes declared sensitive: what attacks and attribute-wise mechanisms look at."""
    threshold: float | None = None
    """A public value of the target, in its unit: a binary target is whether it is exceeded."""
    leaks: tuple[Leak, ...] = ()
    dropped: int = 0
    """How many rows were left out because a value was missing."""
    declared_n: bool = False
    """Whether n was declared all the same, and one row of the source is at most one row here: then it is public."""

    def __post_init__(self) -> None:
        if self.dropped and not self.declared_n and all(leak.what != ROWS_DROPPED.what for leak in self.leaks):
            object.__setattr__(self, "leaks", (*self.leaks, ROWS_DROPPED))
        names = [column.name for column in (*self.columns, self.target)]
        if len(set(names)) < len(names):
            raise Refused(f"Column names must differ. Got {', '.join(names)} instead.")
        for array, width in ((self.features, (len(self.columns),)), (self.response, ())):
            if array.dtype.kind not in "fiub":
                raise Refused(f"A table's columns must be numbers. Got the type {array.dtype} instead.")
            if array.shape[1:] != width or len(array) != len(self.response):
                raise Refused(
                    f"A table needs {len(self.columns)} feature columns and one target of equal length. Got other shapes."
                )
        if len(self.response) < 2 or not self.columns:
            raise Refused(
                f"A table needs at least 2 rows and 1 feature. Got {len(self.response)} rows, {len(self.columns)} features."
            )
        for name in self.sensitive:
            if name not in self.attributes:
                raise unknown("attribute", name, self.attributes)
        bad = int((~np.isfinite(self.features)).sum() + (~np.isfinite(self.response)).sum())
        if bad:
            raise Refused(f"A table must hold finite numbers only. Got {bad} missing or infinite values.")
        self._check_groups()

    def _check_groups(self) -> None:
        """Sensitivities count one 1 in each one-hot group, so a row with more, or with other numbers, must not pass."""
        for group in dict.fromkeys(column.group for column in self.columns if column.group is not None):
            members = self.features[:, [column.group == group for column in self.columns]]
            bad = int((~np.isin(members, (0, 1)).all(axis=1) | (members.sum(axis=1) > 1)).sum())
            if bad:
                raise Refused(f"One-hot columns hold 0 or 1, at most one 1 a row. Got {bad} rows of {group!r} that do not.")

    @property
    def rows(self) -> int:
        return len(self.response)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes in order, a one-hot group counted once."""
        return tuple(dict.fromkeys(column.attribute for column in self.columns))

    def take(self, index: np.ndarray) -> Table:
        """The table with these rows only."""
        return replace(self, features=self.features[index], response=self.response[index])

    def select(self, attributes: Sequence[str]) -> Table:
        """The table with these attributes only, in the table's order."""
        for name in attributes:
            if name not in self.attributes:
                raise unknown("attribute", name, self.attributes)
        kept = [index for index, column in enumerate(self.columns) if column.attribute in attributes]
        return replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            features=self.features[:, kept],
            sensitive=tuple(name for name in self.sensitive if name in attributes),
        )
