"""The decision table as data: one row for each problem, ε and group of cells that may be compared."""

from dpbench.records.names import FAILED_SHARE
from dpbench.report.summary import SweepSummary
from dpbench.report.text_table import Entry, TextTable


def decision_table(summary: SweepSummary) -> TextTable:
    """Return every row, with the command that releases the row of each problem that a reader would pick."""
    header = (
        "problem",
        "epsilon accounted",
        "delta",
        "best",
        "error in unit",
        "unit",
        "error",
        "lost",
        "failed share",
        "intervals",
        "pick",
        "release",
    )
    rows: list[tuple[Entry, ...]] = []
    for row in summary.all_decisions:
        cell, picked = row.best, any(row is pick for pick in summary.picks)
        errors = (cell.error_in_unit(), cell.target_unit, cell.error()) if cell else (None, "", None)
        delta = row.group.places[0].delta if row.group.places else None
        release = summary.releases.get(cell.key, "") if cell and picked else ""
        losses = (row.lost, cell.metrics.get(FAILED_SHARE) if cell else None)
        picks = "yes" if picked else ""
        rows.append((row.board.title, row.level.accounted, delta, row.verdict, *errors, *losses, row.intervals, picks, release))
    return TextTable("decision", "The best mechanism of each problem at each ε", header, rows)
