"""A recorded cell comes back whole, from its own files or from those of its sweep, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking import stored_cells
from dpbench.tracking.artifact_folders import local_folder
from dpbench.tracking.cell_index import cell_index
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store
from dpbench.tracking.stored_cells import read_cell_file, read_cells
from dpbench.tracking.sweep_files import write_sweep_files

MakeRecord = Callable[..., CellRecord]


def test_a_record_keeps_every_number_and_every_tag(store: Store, writer: Writer, make_record: MakeRecord) -> None:
    metrics = {f"utility/metric{number}_median": number / 7 for number in range(200)}
    written = make_record("a", metrics=metrics, tags={"dpbench.sound": "true", "dpbench.guarantee": "sound"})
    run_id = writer.write(written, None).run_id
    ((_, read),) = read_cells(cell_index(store).cells(["a"]), store)
    assert read is not None
    assert (read.state, read.run_id, read.key) == ("resumed", run_id, "a")
    assert (read.metrics, read.params, read.primary) == (written.metrics, written.params, "rmse")
    assert read.detail.config == written.detail.config


def _unreadable(folder: Path) -> None:
    (folder / "cell.json").write_text("{")


def _older(folder: Path) -> None:
    (folder / "cell.json").write_text("{}")


def _without_record(folder: Path) -> None:
    (folder / "cell.json").unlink()


def _without_ledger(folder: Path) -> None:
    (folder / "ledger.json").unlink()


@pytest.mark.parametrize("damage", [_unreadable, _older, _without_record, _without_ledger])
def test_a_cell_that_lost_a_file_is_not_read(
    store: Store, writer: Writer, make_record: MakeRecord, damage: Callable[[Path], None]
) -> None:
    writer.write(make_record("a"), None)
    (cell,) = cell_index(store).cells(["a"])
    folder = local_folder(store.uri, cell.artifact_uri)
    assert folder is not None
    damage(folder)
    assert [record for _, record in read_cells([cell], store)] == [None]


def test_a_servers_cells_come_from_the_one_file_of_their_sweep(
    store: Store, writer: Writer, make_record: MakeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of files would take a server thousands of requests."""
    parent = writer.open_sweep("s", "a sweep", SweepRecord((), "command"), "")
    run_id = writer.write(make_record("a"), parent).run_id
    monkeypatch.setattr(stored_cells, "local_folder", lambda store, uri: None)
    (before,) = writer.finished(["a"]).values()
    assert before.metrics == make_record().metrics, "from its own file, as long as the sweep goes on"
    marked = replace(make_record("a", metrics={"utility/rmse_median": 0.125}), run_id=run_id)
    write_sweep_files(SweepRecord((marked,), "command"), tmp_path)
    writer.close_sweep(parent, "FINISHED", "", tmp_path)
    (after,) = writer.finished(["a"]).values()
    assert (after.metrics, after.run_id, after.key) == ({"utility/rmse_median": 0.125}, run_id, "a")


def test_the_file_of_a_cell_alone_can_be_read(store: Store, writer: Writer, make_record: MakeRecord, tmp_path: Path) -> None:
    writer.write(make_record("a"), None)
    (cell,) = cell_index(store).cells(["a"])
    record = read_cell_file(cell.artifact_uri, store.uri)
    assert record is not None
    assert record.metrics == make_record().metrics
    assert read_cell_file(tmp_path.as_uri(), store.uri) is None
