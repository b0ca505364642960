"""The settings of an audit: its level, and how much it tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dpbench.base.options import check_options, option

Level = Literal["none", "replay", "component", "release", "all"]
"""``replay``: sensitivities and control flow, without statistics; ``component``: that, and every answer repeated;
``release``: the replay, and whole fits."""


@dataclass(frozen=True)
class AuditSettings:
    """How an audit is done."""

    name: ClassVar[str] = "the audit"

    level: Level = option("all", help="none; replay: no statistics; component: every answer; release: the weights; all")
    runs: int = option(5_000, low=200, help="in each of two worlds, for each pair of neighbours")
    pairs: int = option(2, low=1, high=20, help="pairs of neighbours that statistics are made of")
    confidence: float = option(0.99, low=0.5, high=1, open_high=True, help="that a mechanism which keeps its word passes")
    rows: int = option(8, low=1, high=100_000, help="rows of the small tables that are made up")
    seed: int = option(0, low=0, help="names every random stream")

    def __post_init__(self) -> None:
        check_options(self, self.name)
