"""Finished cells wait in a folder, whole, until the store takes them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.tracking import undelivered as module
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store
from dpbench.tracking.undelivered import keep, undelivered

MakeRecord = Callable[..., CellRecord]

needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="the system has no user ids")


def replace_by_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two folders for cells."""
    folders = [tmp_path / "beside" / "1", tmp_path / "cache" / "1"]
    monkeypatch.setattr(module, "_homes", lambda store: folders)
    return folders


def test_a_kept_cell_is_delivered_whole(store: Store, writer: Writer, make_record: MakeRecord, homes: list[Path]) -> None:
    record = make_record("a")
    assert keep(record, "s1", store) == homes[0]
    (waiting,) = undelivered(store)
    assert (waiting.sweep, waiting.record.key, waiting.record.metrics) == ("s1", "a", record.metrics)
    written = writer.write(waiting.record, None)
    waiting.remove()
    assert not homes[0].parent.exists()
    (again,) = writer.finished(["a"]).values()
    assert again.run_id == written.run_id
    assert again.detail.config == record.detail.config
    assert again.detail.ledger == record.detail.ledger
    np.testing.assert_array_equal(again.detail.runs["utility/rmse"], record.detail.runs["utility/rmse"])


def test_the_next_folder_is_taken_where_one_cannot_be_written(store: Store, make_record: MakeRecord, homes: list[Path]) -> None:
    homes[0].parent.write_text("a file where a folder should be")
    assert keep(make_record("a"), None, store) == homes[1]
    assert [cell.record.key for cell in undelivered(store)] == ["a"]
    homes[1].parent.rename(homes[1].parent.with_name("away"))
    homes[1].parent.write_text("here too")
    with pytest.raises(OSError, match=r"exists|directory"):
        keep(make_record("b"), None, store)


def test_only_the_user_can_read_what_waits(store: Store, make_record: MakeRecord) -> None:
    assert stat.S_IMODE(keep(make_record("a"), None, store).stat().st_mode) == 0o700


def test_a_kept_cell_is_delivered_under_a_umask_that_lets_the_group_write(
    store: Store, make_record: MakeRecord, homes: list[Path]
) -> None:
    before = os.umask(0o002)
    try:
        assert keep(make_record("a"), None, store) == homes[0]
    finally:
        os.umask(before)
    assert [cell.record.key for cell in undelivered(store)] == ["a"]


@needs_owners
@pytest.mark.parametrize("level", ["experiment", "store"])
@pytest.mark.parametrize("spoil", [lambda path: path.chmod(0o770), lambda path: path.chmod(0o707), replace_by_link])
def test_a_folder_that_another_user_may_have_filled_is_neither_read_nor_used(
    store: Store, make_record: MakeRecord, homes: list[Path], level: str, spoil: Callable[[Path], None]
) -> None:
    keep(make_record("a"), None, store)
    spoil(homes[0] if level == "experiment" else homes[0].parent)
    assert list(undelivered(store)) == []
    assert keep(make_record("b"), None, store) == homes[1]
    assert not (homes[0] / "b").exists()
    assert [cell.record.key for cell in undelivered(store)] == ["b"]


@needs_owners
def test_a_folder_of_another_user_is_neither_read_nor_used(
    store: Store, make_record: MakeRecord, homes: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(make_record("a"), None, store)
    someone_else = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: someone_else)
    assert list(undelivered(store)) == []
    with pytest.raises(PermissionError, match="another user owns the folder or may write to it"):
        keep(make_record("b"), None, store)
    assert [path.name for path in homes[0].iterdir()] == ["a"]


def test_a_cell_that_was_kept_twice_waits_once(store: Store, make_record: MakeRecord) -> None:
    keep(make_record("a", metrics={"utility/rmse_median": 1.0}), None, store)
    keep(make_record("a", metrics={"utility/rmse_median": 2.0}), None, store)
    assert [cell.record.metrics for cell in undelivered(store)] == [{"utility/rmse_median": 2.0}]


def test_a_half_written_cell_is_not_delivered(store: Store, make_record: MakeRecord, homes: list[Path]) -> None:
    keep(make_record("a"), None, store)
    (homes[0] / "a" / "cell.json").write_text("{")
    (homes[0] / ".b").mkdir()
    assert list(undelivered(store)) == []
