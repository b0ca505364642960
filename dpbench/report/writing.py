"""Write a sweep's report into a folder: the page, its figures, its tables."""

from __future__ import annotations

from pathlib import Path

from dpbench.report.figures import error_against_epsilon
from dpbench.report.sweep import Sweep


def write_report(sweep: Sweep, folder: Path) -> str | None:
    """Write the report; the name of its first figure, if it has one."""
    import pandas

    folder.mkdir(parents=True, exist_ok=True)
    pandas.DataFrame([row.as_record() for row in sweep.rows]).to_csv(folder / "summary.csv", index=False)
    figure = error_against_epsilon(sweep.rows, folder / "error_vs_epsilon")
    return "error_vs_epsilon.png" if figure else None
