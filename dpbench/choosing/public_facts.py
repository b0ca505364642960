"""The public facts about a table that plausible tables must agree with."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.base.errors import Refused
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Scaler
from dpbench.data.table import Column, Table
from dpbench.files.bounds_file import Bounds
from dpbench.files.column_knowledge import NOTHING_KNOWN, ColumnKnowledge

Interval = tuple[float, float]

PLAUSIBLE_R_SQUARED: Interval = (0.2, 0.9)
"""The range of R² where the owner of the table says nothing else."""


@dataclass(frozen=True)
class PublicFacts:
    """The declared columns and target, what is known of their values, and how well a fit may explain the target."""

    columns: tuple[Column, ...]
    """Of the design: a column with levels has one per level."""
    target: Column
    knowledge: Mapping[str, ColumnKnowledge]
    """By attribute, with the target's."""
    model: Model
    threshold: float | None = None
    r_squared: Interval = PLAUSIBLE_R_SQUARED

    def __post_init__(self) -> None:
        low, high = self.r_squared
        if not 0 < low <= high < 1:
            raise Refused(f"The range of R² must be two numbers between 0 and 1, the lower one first. Got {low:g} to {high:g}.")
        if not self.columns:
            raise Refused("A choice needs at least one column besides the target. Got none.")
        _ = self.geometry  # refuses a target that does not suit the model

    @cached_property
    def geometry(self) -> Geometry:
        """The geometry of every table with these columns."""
        rows = np.zeros((2, len(self.columns)))
        head = Table(self.columns, self.target, rows, rows[:, 0], threshold=self.threshold)
        return Scaler(head, "box", self.model.intercept, self.model.target).geometry

    @property
    def known_columns(self) -> int:
        """How many attributes, with the target, have a typical value and a spread, or shares."""
        return sum(_is_known(known) for known in self.knowledge.values())


def facts_of(bounds: Bounds, target: str, model: Model, r_squared: Interval) -> PublicFacts:
    """Return the facts that a bounds file declares; ``target`` replaces the file's own unless it is empty."""
    name = target or bounds.target
    if not name:
        raise Refused("The target must be the name of a column: `target: wage` in the bounds file, or dataset.target=wage.")
    if bounds.from_data:
        raise Refused(
            "The bounds file says that its numbers were read from the rows (from_data): they are not public. Replace them by "
            "what is known without the rows, and delete that line."
        )
    if name not in bounds.columns:
        raise Refused(f"The target {name!r} must be declared in the bounds file. It declares {', '.join(bounds.columns)}.")
    if unfilled := sorted(bounds.open):
        raise Refused(f"The bounds of {', '.join(map(repr, unfilled))} are open: fill in low and high, or write ignore.")
    declared = bounds.columns[name]
    if len(declared.levels) > 2:
        raise Refused(f"The target {name!r} must have bounds or two levels. Got {len(declared.levels)} levels instead.")
    two = bool(declared.levels)
    columns = (column for other in bounds.columns if other != name for column in bounds.columns[other].columns(other))
    return PublicFacts(
        tuple(columns),
        Column(name, 0, 1, kind="binary", meaning=f"1 = {declared.levels[1]}") if two else declared.columns(name)[0],
        {column: declaration.knowledge for column, declaration in bounds.columns.items()},
        model,
        bounds.threshold if bounds.threshold is not None else 0.5 if two else None,
        r_squared,
    )


def _is_known(known: ColumnKnowledge) -> bool:
    return known != NOTHING_KNOWN and (bool(known.shares) or None not in (known.typical, known.spread))
