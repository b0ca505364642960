"""The lines that say where a report and its figures are."""

from collections.abc import Sequence
from pathlib import Path

from dpbench.base.user_path import short_path
from dpbench.records.sweep_record import SweepRecord

PRESET_FIGURE = "figure"
"""The name of the figure that a preset draws."""


def file_lines(sweep: SweepRecord, files: Sequence[Path]) -> list[str]:
    """Return a line for each file: the report's page, then its figures. A preset's own figure comes before all others."""
    page, *figures = map(short_path, files)
    preset = sweep.preset
    own = f"{preset.title}: {figures.pop(0)}" if preset and figures and figures[0].stem == PRESET_FIGURE else ""
    return [*([own] if own else []), f"Report: {page}", *(f"Figure: {figure}" for figure in figures)]
