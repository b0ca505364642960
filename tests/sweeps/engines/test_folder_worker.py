"""A worker runs what is in a folder until nothing more is to come, and gives back what it cannot finish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.folder_worker import work
from dpbench.sweeps.engines.unit_folder import BEGUN, UnitFolder

Do = Callable[[Any], Any]


@pytest.fixture
def folder(tmp_path: Path) -> UnitFolder:
    return UnitFolder(tmp_path / "units here", create=True)


@pytest.fixture
def publish(folder: UnitFolder, do: Do) -> Callable[..., None]:
    """Write units, each a word and what it needs, in this order."""
    import engine_tasks

    def written(*units: tuple[Any, ...]) -> None:
        for order, words in enumerate(units):
            folder.publish(order, engine_tasks.do_named, engine_tasks.Named(words))

    return written


def started(folder: UnitFolder, *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dpbench", "work", str(folder.path), *flags]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_until_empty_ends_at_once_when_nothing_is_left(folder: UnitFolder, publish: Any) -> None:
    publish(("square", 2), ("square", 3))
    with FolderLease(folder["parents"] / "sweep"):  # more may come
        assert work(folder.path, until_empty=True) == 2
    assert sorted(folder.result(digest) for digest in os.listdir(folder["results"])) == [4, 9]
    assert os.listdir(folder["workers"]) == []


def test_a_worker_ends_when_no_sweep_waits_any_more(folder: UnitFolder, publish: Any) -> None:
    publish(("square", 2))
    (folder.path / BEGUN).touch()
    assert work(folder.path) == 1


def test_ctrl_c_gives_the_unit_back(folder: UnitFolder, publish: Any, tmp_path: Path) -> None:
    publish(("write pid and wait for", str(tmp_path / "pid"), str(tmp_path / "gate")))
    with started(folder) as worker:
        while not (tmp_path / "pid").exists():
            assert worker.poll() is None
        worker.send_signal(signal.SIGINT)
        out, err = worker.communicate()
    assert (worker.returncode, out, err) == (130, "", "Interrupted.\n")
    assert [file.attempt for file in folder.files("units")] == [1]
    assert folder.files("taken") == []


def test_what_a_killed_worker_held_is_run_by_another(folder: UnitFolder, publish: Any, tmp_path: Path) -> None:
    publish(("write pid and wait for", str(tmp_path / "pid"), str(tmp_path / "gate")))
    (folder.path / BEGUN).touch()
    with started(folder) as worker:
        while not (tmp_path / "pid").exists():
            assert worker.poll() is None
        worker.kill()
        worker.communicate()
    (tmp_path / "gate").touch()
    assert work(folder.path) == 1
    assert [folder.result(digest) for digest in os.listdir(folder["results"])] == ["waited"]


def test_units_of_another_version_are_refused_and_given_back(
    folder: UnitFolder, publish: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        theirs = {"dpbench": "0.0.1", "Python": "3.11.0", "NumPy": "1.0"}
        patch.setattr("dpbench.sweeps.engines.unit_folder.versions", lambda: theirs)
        publish(("square", 2))
    with pytest.raises(Refused, match="use the same versions"):
        work(folder.path)
    assert len(folder.files("units")) == 1
