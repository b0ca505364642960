"""Describe a metric for readers. The description is recorded with every sweep, so that reports need no plugin."""

from dataclasses import dataclass, replace
from typing import Literal, Self

Direction = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class MetricInfo:
    """A metric's name, and what a reader must know about it."""

    name: str
    """``utility/rmse``; without the group where a plugin declares it."""
    label: str
    """A few words for the axis of a figure or the head of a column."""
    meaning: str
    """One sentence for docs/records.md."""
    better: Direction = "neither"
    """Which values are better: for an attack, from the attacker's side."""
    unit: str = ""
    headline: bool = False
    """Whether the printed table has a column for it: for the metrics of attacks."""

    def in_group(self, group: str) -> Self:
        """Return the information with its full name."""
        return replace(self, name=f"{group}/{self.name}")
