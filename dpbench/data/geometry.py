"""The geometry of a scaled table: public facts, the only source of sensitivities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from dpbench.base.errors import unknown

Scaling = Literal["box", "ball"]
TargetKind = Literal["real", "binary"]


@dataclass(frozen=True)
class Geometry:
    """What is public about a design matrix: its columns, how they were scaled, what the target can be.

    Under ``box`` scaling numeric columns lie in [-1, 1] and one-hot columns keep 0 and 1; under ``ball`` a row's L2 norm is
    at most 1. The target lies in [-1, 1] (``real``) or is 0 or 1 (``binary``). The intercept, when there is one, is the
    first column of the design and holds the constant ``constant``.
    """

    columns: tuple[str, ...]
    """The feature columns, without the intercept."""
    groups: tuple[tuple[int, ...], ...]
    """The one-hot groups: positions in ``columns``."""
    intercept: bool
    scaling: Scaling
    target: TargetKind
    constant: float = 1.0
    half_range: float = 1.0
    """Half the target's declared range in its own unit: what one scaled unit is worth."""
    attributes: tuple[str, ...] = ()
    """The attribute of each feature column, where that is not the column's own name."""
    sensitive: tuple[str, ...] = ()
    """The attributes declared sensitive: public, as declarations are."""
    levels: tuple[int, ...] = ()
    """How many equally spaced values each feature column can take between its bounds; 0: continuous, or not declared."""

    @property
    def features(self) -> int:
        return len(self.columns)

    @property
    def dimension(self) -> int:
        """D: the number of regression coefficients, the intercept's included."""
        return len(self.columns) + self.intercept

    @cached_property
    def numeric(self) -> int:
        """Feature columns outside one-hot groups."""
        return len(self.columns) - sum(map(len, self.groups))

    def positions(self, attribute: str) -> tuple[int, ...]:
        """The coefficients that belong to an attribute."""
        attributes = self.attributes or self.columns
        if attribute not in attributes:
            raise unknown("attribute", attribute, set(attributes))
        return tuple(index + self.intercept for index, name in enumerate(attributes) if name == attribute)

    def without(self, attributes: Collection[str]) -> Geometry:
        """The geometry of the same rows without these attributes. The scaling stays: under ``ball`` norms only shrink."""
        kept = self.kept(attributes)
        place = {old: new for new, old in enumerate(kept)}
        groups = tuple(tuple(place[index] for index in group if index in place) for group in self.groups)
        own = self.attributes or self.columns
        return replace(
            self,
            columns=tuple(self.columns[index] for index in kept),
            groups=tuple(group for group in groups if group),
            attributes=tuple(own[index] for index in kept),
            levels=tuple(self.levels[index] for index in kept) if self.levels else (),
            sensitive=tuple(name for name in self.sensitive if name not in attributes),
        )

    def kept(self, attributes: Collection[str]) -> list[int]:
        """The feature columns that do not belong to these attributes."""
        own = self.attributes or self.columns
        for name in attributes:
            if name not in own:
                raise unknown("attribute", name, set(own))
        return [index for index, name in enumerate(own) if name not in attributes]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The coefficients' names in order."""
        return (("intercept",) if self.intercept else ()) + self.columns
