"""The geometry of a scaled table: public facts about the design, the only source of sensitivities."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from dpbench.base.errors import check_known
from dpbench.data.table import Column

Scaling = Literal["box", "ball", "corner"]
TargetKind = Literal["real", "binary"]
Neighbours = Literal["replace_one", "replace_one_person"]
"""Which tables are neighbours: those that differ in one row, or in all rows of one person, by any others."""


@dataclass(frozen=True)
class Geometry:
    """What is public about a design matrix: its columns, how they were scaled, and which values the target can take.

    Under ``box`` scaling numeric columns lie in [-1, 1] and one-hot columns hold 0 and 1; under ``ball`` a row's L2 norm is
    at most 1; under ``corner`` each of d numeric columns lies in [0, 1/sqrt(d)], which is the box in the positive corner of
    the unit ball, without an intercept and without one-hot columns. The target lies in [-1, 1] (``real``) or is 0 or 1
    (``binary``). If there is an intercept, it is the first column of the design and holds the value ``constant``.
    """

    columns: tuple[str, ...]
    """The feature columns, without the intercept."""
    groups: tuple[tuple[int, ...], ...]
    """The one-hot groups: positions in ``columns``."""
    intercept: bool
    scaling: Scaling
    target: TargetKind
    constant: float = 1.0
    target_column: Column | None = None
    """The declaration of a real target, which maps predictions back to its unit; None if it is in [-1, 1] as it is."""
    attributes: tuple[str, ...] = ()
    """The attribute of each feature column; empty where every column is its own attribute."""
    sensitive: tuple[str, ...] = ()
    """The attributes declared sensitive: public, as declarations are."""
    levels: tuple[int, ...] = ()
    """The number of equally spaced values that each feature column can take; 0 if it is continuous or not declared."""
    table_features: int = 0
    """The number of feature columns of the whole table; 0 if this geometry has all of them."""
    rows_per_person: int | None = None
    """The most rows that a person has, if privacy is promised to persons; None if it is promised to rows."""

    def __post_init__(self) -> None:
        if self.rows_per_person is not None and self.rows_per_person < 1:
            raise ValueError(f"A person has at least one row at most. Got {self.rows_per_person}.")
        if self.scaling == "corner" and (self.intercept or self.groups):
            raise ValueError("Corner scaling allows neither an intercept nor one-hot groups.")

    @property
    def half_range(self) -> float:
        """Half the target's declared range in its own unit: what one scaled unit is worth, unless there is a transform."""
        return 1.0 if self.target_column is None else (self.target_column.high - self.target_column.low) / 2

    @property
    def features(self) -> int:
        """The number of feature columns."""
        return len(self.columns)

    @property
    def dimension(self) -> int:
        """D: the number of regression coefficients, including the intercept's."""
        return len(self.columns) + self.intercept

    @cached_property
    def numeric(self) -> int:
        """The number of feature columns outside one-hot groups."""
        return len(self.columns) - sum(map(len, self.groups))

    @property
    def squared_norm(self) -> float:
        """The largest squared L2 norm of a design row.

        It is 1 in the ball. In the box each numeric column and each group adds 1, in the corner each of the d columns 1/d.
        """
        if self.scaling == "ball":
            return 1.0
        parts = self.numeric + len(self.groups) + self.intercept
        return parts / (self.table_features or parts) if self.scaling == "corner" else parts

    @property
    def replaced_rows(self) -> int:
        """The number of rows in which neighbours differ: 1, or all rows of a person."""
        return self.rows_per_person or 1

    @property
    def public_count(self) -> bool:
        """Whether n is the number of rows. It is not where persons have any number of rows up to the most that count."""
        return self.rows_per_person is None

    @property
    def neighbours(self) -> Neighbours:
        """Which tables are neighbours."""
        return "replace_one" if self.rows_per_person is None else "replace_one_person"

    @property
    def value_range(self) -> tuple[float, float]:
        """The range of one numeric column: [-1, 1], or [0, 1/sqrt(d)] in the corner, where d counts the whole table's columns."""
        return (0.0, 1 / math.sqrt(self.table_features or self.features)) if self.scaling == "corner" else (-1.0, 1.0)

    def from_box(self, values: np.ndarray) -> np.ndarray:
        """Map values from [-1, 1] to the range of a numeric column."""
        low, high = self.value_range
        return values if low == -high else (values + 1) * (high / 2)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The coefficients' names in order."""
        return (("intercept",) if self.intercept else ()) + self.columns

    def positions(self, attribute: str) -> tuple[int, ...]:
        """Return the positions of the coefficients that belong to an attribute."""
        check_known("attribute", [attribute], set(self._owners))
        return tuple(index + self.intercept for index, name in enumerate(self._owners) if name == attribute)

    def columns_without(self, attributes: Collection[str]) -> list[int]:
        """Return the positions of the feature columns that do not belong to these attributes."""
        check_known("attribute", attributes, set(self._owners))
        return [index for index, name in enumerate(self._owners) if name not in attributes]

    def without(self, attributes: Collection[str]) -> Self:
        """Return the geometry of the same rows without these attributes.

        The scaling stays: under ``ball`` norms only shrink, under ``corner`` the columns keep their range.
        """
        remaining = self.columns_without(attributes)
        if len(remaining) == self.features:
            return self
        new_index = {old: new for new, old in enumerate(remaining)}
        return replace(
            self,
            columns=tuple(self.columns[index] for index in remaining),
            groups=tuple(filter(None, (tuple(new_index[old] for old in group if old in new_index) for group in self.groups))),
            attributes=tuple(self._owners[index] for index in remaining),
            levels=tuple(self.levels[index] for index in remaining) if self.levels else (),
            sensitive=tuple(name for name in self.sensitive if name not in attributes),
            table_features=self.table_features or self.features,
        )

    def with_private_intercept(self) -> Self:
        """Return the geometry with the intercept as one more numeric column: what bounds need where a row may be missing.

        A row that is missing is one of zeros, also in the intercept's column, which then holds 0 or 1.
        """
        if not self.intercept:
            return self
        groups = tuple(tuple(index + 1 for index in group) for group in self.groups)
        attributes = ("intercept", *self._owners)
        levels = (2, *self.levels) if self.levels else ()
        return replace(self, columns=self.names, groups=groups, intercept=False, attributes=attributes, levels=levels)

    @property
    def _owners(self) -> tuple[str, ...]:
        """The attribute of each feature column."""
        return self.attributes or self.columns
