"""End a sweep in its store: with a note, a report, its plan, its comparisons and all of its records."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from dpbench.base.errors import Omissions
from dpbench.records.names import COMPARISONS_FILE, REPORT_FOLDER
from dpbench.report.note import NOTE_FIGURE, note
from dpbench.report.png_picture import read_png
from dpbench.report.report_files import write_report
from dpbench.report.statistics.kept_comparisons import content_of
from dpbench.report.summary import SweepSummary
from dpbench.tracking.chart_metrics import problem_metric
from dpbench.tracking.run_writer import Ending, Writer
from dpbench.tracking.store import Store
from dpbench.tracking.sweep_files import write_sweep_files
from dpbench.tracking.ui_view import links, save_view


def finish_sweep(writer: Writer, store: Store, summary: SweepSummary) -> Omissions:
    """End the run of a sweep whose cells are all recorded, and update what MLflow's page of all cells shows.

    Only the plan and the records must be written. All else can be made from them, so an error there is kept and returned.
    """
    parent, view, omissions = summary.sweep.run_id, save_view(store), Omissions()
    with tempfile.TemporaryDirectory(prefix="dpbench-") as name:
        folder = Path(name)
        report = folder / REPORT_FOLDER
        figures = write_report(summary, report, omissions, pdfs=False)  # drawn by the command `report`, for who needs them
        if figures:
            (folder / NOTE_FIGURE).write_text(read_png(report / figures[0]).svg(), encoding="utf-8")
        releases = omissions.attempt("the release commands", lambda: summary.releases) or {}
        write_sweep_files(replace(summary.sweep, releases=releases), folder)
        comparisons = omissions.attempt("the kept comparisons", lambda: json.dumps(content_of(summary.comparisons)))
        if comparisons is not None:
            (folder / COMPARISONS_FILE).write_text(comparisons, encoding="utf-8")
        ended: Ending = "FAILED" if any(cell.state == "failed" for cell in summary.cells) else "FINISHED"
        text = omissions.attempt("the note", lambda: note(summary, NOTE_FIGURE if figures else None)) or ""
        metrics = omissions.attempt("the metrics of the sweep", lambda: _metrics(summary))
        writer.close_sweep(parent, ended, f"{links(store.experiment_id, parent, view)}\n\n{text}", folder, metrics)
    return omissions


def _metrics(summary: SweepSummary) -> dict[str, float]:
    """Return the error of each problem's pick, and the price of a release."""
    errors = {problem_metric(row.best): row.best.error() for row in summary.picks if row.best}
    return {name: error for name, error in errors.items() if error is not None} | {**summary.metrics}
