"""A sweep that is finished has a note, a report, its plan and its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.summary import SweepSummary
from dpbench.sweeps.finishing import finish_sweep
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import read_sweep


def finished(home: Any, *cells: CellRecord) -> tuple[Any, SweepRecord, set[str]]:
    """Return the run of a finished sweep of these cells, the sweep as it is read back, and the names of its files."""
    with open_store(f"sqlite:///{home.folder / 'mlflow.db'}") as store, Writer(store) as writer:
        sweep = SweepRecord(cells, "python -m dpbench -m epsilon=0.8")
        parent = writer.open_sweep("key", "a sweep", sweep, "")
        sweep = SweepRecord(tuple(writer.write(cell, parent) for cell in cells), sweep.command, run_id=parent)
        finish_sweep(writer, store, SweepSummary(sweep))
        return store.client.get_run(parent), read_sweep(store), {item.path for item in store.client.list_artifacts(parent)}


def test_its_files_and_its_note_are_there(home: Any, make_cell: Callable[..., CellRecord]) -> None:
    run, read, files = finished(home, make_cell("fm"), make_cell("dpba"))
    assert run.info.status == "FINISHED"
    assert {"plan.csv", "records.parquet", "sweep.json", "report"} <= files
    assert "[The report](" in run.data.tags["mlflow.note.content"]
    assert [cell.params["mechanism"] for cell in read.cells] == ["fm", "dpba"]


def test_one_failed_cell_makes_it_a_failed_sweep(home: Any, make_cell: Callable[..., CellRecord]) -> None:
    run, _, _ = finished(home, make_cell("fm"), make_cell("dpba", state="failed", reason="it broke", metrics={}))
    assert run.info.status == "FAILED"
