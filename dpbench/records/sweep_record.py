"""A sweep as reports see it: its cells, the command that made them, and the preset, if it was one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from dpbench.records.cell_record import CellRecord
from dpbench.records.preset import Preset

ELSEWHERE = ("experiment", "quick", "tracking", "engine", "rerun")
"""Keys that say where and how a preset runs, and not what."""


@dataclass(frozen=True)
class SweepRecord:
    """Everything a report is made from."""

    rows: tuple[CellRecord, ...]
    command: str
    preset: Preset | None = None
    quick: bool = False
    """Whether ``quick=true`` shrank it: a first look, and no evidence."""
    run_id: str = ""
    """The parent run, where it is recorded."""

    @property
    def done(self) -> list[CellRecord]:
        return [row for row in self.rows if row.done]

    @property
    def changed(self) -> list[str]:
        """What was asked for in place of the preset's own: then it is not the paper's figure any more."""
        if self.preset is None:
            return []
        asked = [word for word in shlex.split(self.command) if "=" in word]
        return [word for word in asked if word.partition("=")[0].partition(".")[0] not in ELSEWHERE]

    @property
    def synthetic(self) -> bool:
        """Whether any of its data was drawn and not collected."""
        return any(row.tags.get("dpbench.synthetic") == "true" for row in self.done)
