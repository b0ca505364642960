"""Draw the figures of a sweep from its rows: the paper's own where a preset has one, and those that any sweep can have."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpbench.records.sweep_record import SweepRecord


@dataclass(frozen=True)
class SavedFigure:
    """A figure that was written, as ``name.png`` and ``name.pdf``."""

    name: str
    title: str
    caption: str


def draw(sweep: SweepRecord, folder: Path) -> tuple[SavedFigure, ...]:
    """Write every figure that has something to say: the preset's own comes first and is called ``figure``."""
    if not sweep.done:
        return ()
    from dpbench.report.figures import style  # matplotlib takes a third of a second: here, once, where something is drawn
    from dpbench.report.figures.pictures import pictures

    drawn = []
    with style.styled():
        for picture in pictures(sweep):
            folder.mkdir(parents=True, exist_ok=True)
            style.save(picture.figure, folder / picture.name)
            drawn.append(SavedFigure(picture.name, picture.title, picture.caption))
    return tuple(drawn)
