"""Write a sweep's report into a folder: the page, its figures, its tables."""

from __future__ import annotations

from pathlib import Path

from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures.draw import draw
from dpbench.report.html_page import page
from dpbench.report.leaderboards import boards
from dpbench.report.tables import summary, tables_of

PAGE = "report.html"


def write_report(sweep: SweepRecord, folder: Path) -> str | None:
    """Write the report; the name of its first figure, if it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw(sweep, folder)
    (folder / "summary.csv").write_text(summary(sweep.cells).csv(), encoding="utf-8")
    ordered = boards(sweep.cells)
    tables = tables_of(sweep, ordered)
    for table in tables:
        (folder / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
        (folder / f"{table.name}.tex").write_text(table.latex(), encoding="utf-8")
    (folder / PAGE).write_text(page(sweep, ordered, tables, drawn, folder), encoding="utf-8")
    return f"{drawn[0].name}.png" if drawn else None
