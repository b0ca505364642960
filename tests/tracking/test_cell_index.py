"""A database is asked in SQL and a server by MLflow's search: both find the same cells, the newest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking import cell_index as module
from dpbench.tracking.cell_index import CellIndex, _Queries, _Searches, cell_index
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store, open_store

MakeRecord = Callable[..., CellRecord]


@pytest.fixture(params=["queries", "searches", "queries of everything", "searches of everything"])
def index(store: Store, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> CellIndex:
    """Both kinds of index, for few cells and as they work with many."""
    if request.param.endswith("everything"):
        monkeypatch.setattr(module, "MAX_KEYS_PER_QUERY", 0)
        monkeypatch.setattr(module, "MAX_SINGLE_SEARCHES", 0)
    return _Queries(store) if request.param.startswith("queries") else _Searches(store)


def test_a_database_is_asked_without_mlflow(store: Store, writer: Writer, make_record: MakeRecord) -> None:
    writer.write(make_record("a"), None)
    with open_store(store.uri, store.experiment, create=False) as other:
        assert cell_index(other).keys(["a", "b"]) == {"a"}
        assert "client" not in vars(other)


def test_finished_cells_are_found_by_their_keys(
    index: CellIndex, store: Store, writer: Writer, make_record: MakeRecord, make_failure: MakeRecord
) -> None:
    parent = writer.open_sweep("s", "a sweep", SweepRecord((), "command"), "")
    older = writer.write(make_record("a"), None).run_id
    newer = writer.write(make_record("a"), parent).run_id
    writer.write(make_record("not wanted"), parent)
    writer.write(make_failure("failed"), parent)
    store.client.delete_run(writer.write(make_record("deleted"), parent).run_id)
    wanted = ["a", "failed", "deleted", "missing"]
    assert index.keys(wanted) == {"a"}
    assert {(cell.key, cell.run_id) for cell in index.cells(wanted)} == {("a", older), ("a", newer)}
    parents = {cell.run_id: cell.tags.get("mlflow.parentRunId") for cell in index.cells(wanted)}
    assert parents == {older: None, newer: parent}
    assert index.keys([]) == set()
    assert list(index.cells([])) == []


def test_the_newest_record_of_a_cell_comes_first(index: CellIndex, writer: Writer, make_record: MakeRecord) -> None:
    """Several workers use more CPU time than passes: then a rerun starts, in the store, before the record that it replaces."""
    replaced = writer.write(make_record("a", metrics={"time/cell_seconds": 1.0}), None).run_id
    rerun = writer.write(make_record("a", metrics={"time/cell_seconds": 500.0}), None).run_id
    assert [cell.run_id for cell in index.cells(["a"])] == [rerun, replaced]
    assert writer.finished(["a"])["a"].run_id == rerun


def test_an_audit_that_came_later_counts(index: CellIndex, writer: Writer, make_record: MakeRecord) -> None:
    record = make_record("a", tags={"dpbench.guarantee": "claimed", "dpbench.sound": "false"})
    record = replace(record, run_id=writer.write(record, None).run_id)
    writer.vouch(record, {"dpbench.guarantee": "sound", "dpbench.sound": "true"})
    (cell,) = index.cells(["a"])
    assert cell.tags == {"dpbench.guarantee": "sound", "dpbench.sound": "true"}
    assert writer.finished(["a"])["a"].sound


def test_a_cell_that_finishes_while_the_database_is_asked_is_read_with_its_tags_or_not_at_all(
    store: Store, writer: Writer, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = {"dpbench.guarantee": "refuted", "dpbench.sound": "false"}
    writer.write(make_record("before", tags=tags), None)
    rows = _Queries._rows

    def then_a_cell_finishes(*arguments: Any, **values: Any) -> Any:
        answer = rows(*arguments, **values)
        writer.write(make_record("meanwhile", tags=tags), None)
        return answer

    monkeypatch.setattr(_Queries, "_rows", then_a_cell_finishes)
    cells = list(_Queries(store).cells(None))
    assert {cell.key for cell in cells} >= {"before"}
    assert [cell.tags for cell in cells] == [tags] * len(cells)


def test_cells_of_private_tables_under_another_key_are_counted(index: CellIndex, writer: Writer, make_record: MakeRecord) -> None:
    writer.write(make_record("public"), None)
    for name, key in (("mine", "k1"), ("other", "k2")):
        params = {**make_record().params, "dataset": name}
        writer.write(make_record(name, params=params, tags={"dpbench.digest_key": key}), None)
    assert [params["dataset"] for params in index.params_under_other_keys("k1")] == ["other"]
