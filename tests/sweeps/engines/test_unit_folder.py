"""Unit files move by renames alone: each is run by one worker, and what a lost worker held goes back."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.loop import WorkerDied
from dpbench.sweeps.engines.unit_folder import BEGUN, MAX_ATTEMPTS, UnitFile, UnitFolder


@dataclass(frozen=True)
class Square:
    """A unit that needs no table."""

    number: int
    group: str = "a:0"

    @property
    def digest(self) -> str:
        return f"d{self.number}"

    @property
    def name(self) -> str:
        return self.group


@pytest.fixture
def folder(tmp_path: Path) -> UnitFolder:
    return UnitFolder(tmp_path / "units here", create=True)


@pytest.fixture
def lease(folder: UnitFolder) -> Iterator[FolderLease]:
    with FolderLease(folder["parents"] / "me") as own:
        yield own


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def dead_worker(folder: UnitFolder, name: str) -> str:
    """A worker of this host whose process has ended."""
    with FolderLease(folder["workers"] / name) as worker:
        text = worker.path.read_text()
    (folder["workers"] / name).write_text(text.replace(f'"process": {os.getpid()}', f'"process": {ended_process()}'))
    return name


def test_only_its_owner_may_use_a_folder_that_a_sweep_made(folder: UnitFolder) -> None:
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700


def test_a_folder_that_was_there_keeps_its_mode_so_that_a_group_may_share_it(tmp_path: Path) -> None:
    (shared := tmp_path / "shared").mkdir()
    shared.chmod(0o770)
    folder = UnitFolder(shared, create=True)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o770


def test_a_folder_that_everybody_may_write_to_is_refused(folder: UnitFolder) -> None:
    folder.path.chmod(0o777)
    with pytest.raises(Refused, match="could run code as you"):
        UnitFolder(folder.path)


def test_a_folder_that_no_sweep_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is no folder of unit files"):
        UnitFolder(tmp_path)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="cannot be used for unit files: Not a directory"):
        UnitFolder(tmp_path / "file" / "units", create=True)


def test_a_unit_is_taken_once_and_its_result_is_read_back(folder: UnitFolder) -> None:
    folder.publish(0, abs, Square(-3))
    file = folder.take("w1")
    assert file is not None
    assert folder.take("w2") is None
    task, unit = folder.load(file)
    assert (task, unit) == (abs, Square(-3))
    assert not folder.has_result("d-3")
    folder.finish(file, task(unit.number))
    assert folder.result("d-3") == 3
    assert folder.files("taken") == folder.files("units") == []


def test_a_worker_stays_with_its_table_and_leaves_those_of_others(folder: UnitFolder) -> None:
    for order, (number, group) in enumerate([(1, "a:0"), (2, "a:0"), (3, "b:0"), (4, "b:0"), (5, "c:0")]):
        folder.publish(order, abs, Square(number, group))

    def takes(worker: str, group: str = "") -> str:
        file = folder.take(worker, group)
        assert file is not None
        return file.digest

    assert takes("w1") == "d1"
    assert takes("w2") == "d3", "the first table is another worker's"
    assert takes("w1", "a-0") == "d2"
    assert takes("w2", "b-0") == "d4"
    assert takes("w1", "a-0") == "d5", "its own table is done"


def test_what_a_dead_worker_held_goes_back_and_is_given_up_after_the_last_attempt(folder: UnitFolder, lease: FolderLease) -> None:
    folder.publish(0, abs, Square(1))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        file = folder.take(dead_worker(folder, f"w{attempt}"))
        assert file is not None
        assert file.attempt == attempt
        folder.give_back_lost(lease)
    assert folder.files("units") == folder.files("taken") == []
    assert folder.result("d1") == WorkerDied("the worker process died while it ran this cell, 3 times")


def test_what_a_living_worker_holds_stays_its_own(folder: UnitFolder, lease: FolderLease) -> None:
    folder.publish(0, abs, Square(1))
    with FolderLease(folder["workers"] / "w"):
        folder.take("w")
        folder.give_back_lost(lease)
        assert folder.files("units") == []
    folder.give_back_lost(lease)
    assert [file.attempt for file in folder.files("units")] == [2], "it ended without giving the unit back"


def test_a_unit_that_is_given_back_costs_no_attempt(folder: UnitFolder) -> None:
    folder.publish(0, abs, Square(1))
    file = folder.take("w")
    assert file is not None
    folder.give_back(file)
    assert folder.files("units") == [replace(file, worker="")]


def test_a_slow_worker_that_was_taken_for_dead_changes_nothing(folder: UnitFolder) -> None:
    folder.publish(0, abs, Square(1))
    slow = folder.take("slow")
    assert slow is not None
    folder.give_back(slow, lost=True)
    other = folder.take("other")
    assert other is not None
    folder.finish(slow, 1)
    folder.give_back(slow)
    folder.finish(other, 1)
    assert folder.files("units") == folder.files("taken") == []
    assert folder.result("d1") == 1


def test_files_of_other_versions_are_refused_and_results_of_them_do_not_count(
    folder: UnitFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"dpbench": "0.0.1", "Python": "3.11.0", "NumPy": "1.0"}
    with monkeypatch.context() as patch:
        patch.setattr("dpbench.sweeps.engines.unit_folder.versions", lambda: theirs)
        folder.publish(0, abs, Square(1))
        folder.finish(UnitFile(1, "a-0", "d2"), 4)
    file = folder.take("w")
    assert file is not None
    with pytest.raises(Refused, match=r"dpbench 0\.0\.1 instead of .*, NumPy 1\.0 instead of .*: use the same versions"):
        folder.load(file)
    with pytest.raises(FileNotFoundError):
        folder.result("d2")
    assert not folder.has_result("d2"), "so that it is run again"


@pytest.mark.parametrize("content", [b"", b"{", b"{}\n", b"no header\n" + pickle.dumps(1)])
def test_a_result_that_is_cut_off_does_not_count(folder: UnitFolder, content: bytes) -> None:
    (folder["results"] / "d1").write_bytes(content)
    with pytest.raises(FileNotFoundError):
        folder.result("d1")


def test_removing_leaves_what_belongs_to_others(folder: UnitFolder) -> None:
    for number in (1, 2):
        folder.publish(number, abs, Square(number))
        folder.finish(UnitFile(0, "a-0", f"d{number}"), number)
    for place in ("units", "results"):
        folder.remove(place, {"d1"})
    assert [file.digest for file in folder.files("units")] == ["d2"]
    assert os.listdir(folder["results"]) == ["d2"]


def test_a_finished_sweep_leaves_nothing_of_its_own_and_all_that_is_others(folder: UnitFolder, lease: FolderLease) -> None:
    dead_worker(folder, "dead")
    for number in (1, 2):
        folder.publish(number, abs, Square(number))
        folder.finish(UnitFile(0, "a-0", f"d{number}"), number)
    with FolderLease(folder["workers"] / "alive"), FolderLease(folder["parents"] / "another sweep"):
        folder.clear_up(lease, {"d1"})
        assert os.listdir(folder["workers"]) == ["alive"]
        assert sorted(os.listdir(folder["parents"])) == ["another sweep", "me"]
        assert os.listdir(folder["results"]) == ["d2"]
        assert [file.digest for file in folder.files("units")] == ["d2"]
    folder.clear_up(lease, {"d1"})
    assert os.listdir(folder["results"]) == os.listdir(folder["units"]) == [], "no other sweep can want it"


def test_units_are_awaited_until_no_sweep_is_left(folder: UnitFolder, lease: FolderLease) -> None:
    asking = FolderLease(folder["workers"] / "asking")
    with asking:
        assert folder.awaited(asking), "the sweep lives"
    lease.__exit__()
    with FolderLease(folder["workers"] / "asking again") as asking:
        assert folder.awaited(asking), "no sweep has begun"
        (folder.path / BEGUN).touch()
        assert not folder.awaited(asking), "it began, and its process is gone"
