"""End a sweep in its store: with a note, a report, its plan, its comparisons and all of its records."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

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


def finish_sweep(writer: Writer, store: Store, summary: SweepSummary) -> None:
    """End the run of a sweep whose cells are all recorded, and update what MLflow's page of all cells shows."""
    parent, view = summary.sweep.run_id, save_view(store)
    with tempfile.TemporaryDirectory(prefix="dpbench-") as name:
        folder = Path(name)
        report = folder / REPORT_FOLDER
        figures = write_report(summary, report, pdfs=False)  # drawn by the command `report`, for who needs them
        if figures:
            (folder / NOTE_FIGURE).write_text(read_png(report / figures[0]).svg(), encoding="utf-8")
        write_sweep_files(replace(summary.sweep, releases=summary.releases), folder)
        (folder / COMPARISONS_FILE).write_text(json.dumps(content_of(summary.comparisons)), encoding="utf-8")
        ended: Ending = "FAILED" if any(cell.state == "failed" for cell in summary.cells) else "FINISHED"
        text = f"{links(store.experiment_id, parent, view)}\n\n{note(summary, NOTE_FIGURE if figures else None)}"
        errors = {problem_metric(row.best): row.best.error() for row in summary.picks if row.best}
        metrics = {name: error for name, error in errors.items() if error is not None} | {**summary.metrics}
        writer.close_sweep(parent, ended, text, folder, metrics)
