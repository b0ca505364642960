"""A sweep that is finished has a note, a report, its plan and its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.figures import catalog
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


def broken(*_: object, **__: object) -> NoReturn:
    raise KeyError(None)


PLACES = {
    "dpbench.report.figures.catalog.box_figure": "The figure boxes could not be made: ",
    "dpbench.report.tables.ledger": "The table ledger could not be made: ",
    "dpbench.report.html_page.standings": "The page could not be made: ",
    "dpbench.sweeps.finishing.note": "The note could not be made: ",
    "dpbench.sweeps.finishing.content_of": "The kept comparisons could not be made: ",
    "dpbench.sweeps.finishing._metrics": "The metrics of the sweep could not be made: ",
    "dpbench.report.terminal_answer.choice_sentences": "The printed answer could not be made: ",
}


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("place", PLACES)
def test_an_error_in_what_is_made_of_the_records_costs_one_sentence(
    place: str, home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = ("-m", "mechanism=fm,dpba", "epsilon=0.1,1", "dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2")
    with monkeypatch.context() as patch:
        if place.endswith("box_figure"):
            patch.setitem(catalog.GENERAL_FIGURES, "boxes", broken)
        else:
            patch.setattr(place, broken)
        answer = home.run(*grid)
    assert answer.code == 0, answer.err
    assert any(line.startswith(PLACES[place]) for line in answer.err.splitlines())
    assert "Traceback" not in answer.err
    assert answer.counted == "Cells: 4 run."
    assert "best mechanism" in answer.out
    assert "Report: " in answer.out
    (run,) = home.runs("sweep")
    assert run.info.status == "FINISHED"
    assert home.run("report").code == 0
    assert home.run(*grid).counted == "Cells: 0 run, 4 already recorded (rerun=true runs them again)."


@pytest.mark.usefixtures("planted")
def test_where_nothing_can_be_concluded_the_cells_are_recorded_nevertheless(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbench.report.summary.boards", broken)
    answer = home.run(
        "-m", "mechanism=fm", "epsilon=0.1,1", "dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2"
    )
    assert answer.code == 0
    assert answer.err.count("could not be made") == 1
    assert ", the metrics of the sweep, the printed answer could not be made: KeyError: None" in answer.err
    assert answer.counted == "Cells: 2 run."
    assert [run.info.status for run in home.runs("sweep")] == ["FINISHED"]
