"""The failed cells of a sweep are found with their reasons and tracebacks, whatever became of the sweep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpbench.base.errors import Refused
from dpbench.records.cell_record import DetailInMemory
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.failed_cells import failed_cells


@pytest.fixture
def sweeps(store, writer, make_record, make_failure) -> list[str]:
    """Two sweeps, the older one with two failed cells and the newer one, which was interrupted, with one; oldest first."""
    older = writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), "")
    writer.write(make_record("a1"), older)
    for key in ("f1", "f2"):
        failure = make_failure(key, error=f"{key} failed")
        writer.write(replace(failure, detail=DetailInMemory({}, traceback=f"line 1 of {key}\n{key} failed")), older)
    writer.close_sweep(older, "FAILED", "")
    newer = writer.open_sweep("s2", "a sweep", SweepRecord((), "command"), "")
    writer.write(make_failure("f3", error="its worker died"), newer)
    writer.close_sweep(newer, "KILLED", "")
    return [older, newer]


def test_the_newest_sweep_is_the_default_and_others_have_names(store, sweeps: list[str]) -> None:
    older, newer = sweeps
    for name, expected in [(None, newer), ("latest", newer), ("previous", older), (older, older), (older[:8], older)]:
        assert failed_cells(store, name)[0] == expected


def test_each_failed_cell_has_its_reason_and_its_traceback(store, sweeps: list[str]) -> None:
    _, cells = failed_cells(store, "previous")
    assert [(cell.reason, cell.traceback) for cell in cells] == [
        ("f1 failed", "line 1 of f1\nf1 failed"),
        ("f2 failed", "line 1 of f2\nf2 failed"),
    ]
    _, (cell,) = failed_cells(store)
    assert (cell.reason, cell.traceback) == ("its worker died", "")


def test_an_unknown_sweep_is_refused_with_the_known_ones(store, sweeps: list[str]) -> None:
    with pytest.raises(Refused) as refusal:
        failed_cells(store, "nosuch")
    assert "no sweep 'nosuch'" in str(refusal.value)
    assert all(sweep in str(refusal.value) for sweep in sweeps)


def test_a_store_without_sweeps_is_refused(store) -> None:
    with pytest.raises(Refused, match="there is no sweep"):
        failed_cells(store)
