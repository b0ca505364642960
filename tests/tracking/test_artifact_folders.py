"""The files of a SQLite store are those next to it, also after the project's folder was moved or copied."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.artifact_folders import local_folder
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import read_sweep, write_sweep_files

MakeRecord = Callable[..., CellRecord]


@pytest.fixture
def project(database: Path, tmp_path: Path, make_record: MakeRecord) -> Path:
    """A folder with a store that has a sweep of one cell."""
    folder = tmp_path / "my project"
    folder.mkdir()
    shutil.copy(database, folder / "mlflow.db")
    with open_store(f"sqlite:///{folder / 'mlflow.db'}", "mine") as store, Writer(store) as writer:
        parent = writer.open_sweep("s", "a sweep", SweepRecord((), "command"), "")
        record = writer.write(make_record("a"), parent)
        (tmp_path / "files").mkdir()
        write_sweep_files(SweepRecord((record,), "command"), tmp_path / "files")
        writer.close_sweep(parent, "FINISHED", "", tmp_path / "files")
    return folder


def test_what_was_moved_is_read_where_it_is_now_without_writing(project: Path, make_record: MakeRecord) -> None:
    moved = project.rename(project.with_name("elsewhere"))
    before = (moved / "mlflow.db").read_bytes()
    with open_store(f"sqlite:///{moved / 'mlflow.db'}", "mine", create=False) as store, Writer(store) as writer:
        assert writer.finished(["a"])["a"].detail.config == make_record().detail.config
        assert [cell.key for cell in read_sweep(store).cells] == ["a"]
    assert (moved / "mlflow.db").read_bytes() == before


@pytest.mark.parametrize("copied", [False, True], ids=["moved", "copied"])
def test_a_store_that_is_written_again_keeps_its_new_files_next_to_it(
    project: Path, copied: bool, make_record: MakeRecord
) -> None:
    new = project.with_name("elsewhere")
    shutil.copytree(project, new) if copied else project.rename(new)
    there = sorted(project.rglob("*"))
    with open_store(f"sqlite:///{new / 'mlflow.db'}", "mine") as store, Writer(store) as writer:
        writer.write(make_record("b"), None)
        assert set(writer.finished(["a", "b"])) == {"a", "b"}
        addresses = [run.info.artifact_uri for run in store.search("")]
    assert sorted(project.rglob("*")) == there
    assert len(addresses) == 3
    assert all(address.startswith((new / "mlartifacts").as_uri()) for address in addresses), "MLflow's pages find them too"


def test_files_that_lie_elsewhere_on_purpose_stay_there(tmp_path: Path) -> None:
    store, own = f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "archive" / "mlartifacts" / "1"
    assert local_folder(store, own.as_uri()) == own
    elsewhere = Path("/nowhere/mlartifacts/1/artifacts")
    assert local_folder(store, elsewhere.as_uri()) == elsewhere, "there is nothing next to the store"
    assert local_folder(store, "mlflow-artifacts:/1/artifacts") is None
