"""A task that travels runs as it would here: same versions, same plugins, one unit at a time."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from dpbench.registry.lookup import registry
from dpbench.sweeps.engines.loop import WorkerDied
from dpbench.sweeps.engines.remote_task import RemoteTask, different_versions, plugin_variables, take_plugins, versions


def leave(_: Any) -> None:
    raise SystemExit(3)


def interrupted(_: Any) -> None:
    raise KeyboardInterrupt


def test_errors_come_back_as_plain_data_and_interruptions_pass() -> None:
    assert RemoteTask(abs)(-3) == 3
    assert RemoteTask(leave)(None) == WorkerDied("SystemExit: 3")
    with pytest.raises(KeyboardInterrupt):
        RemoteTask(interrupted)(None)


def test_it_survives_the_journey() -> None:
    assert pickle.loads(pickle.dumps(RemoteTask(abs))) == RemoteTask(abs)


def test_a_worker_of_another_version_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task = RemoteTask(leave, versions={**versions(), "dpbench": "99.0"})
    died = task(None)
    assert isinstance(died, WorkerDied)
    assert died.reason.startswith("the worker expects units of dpbench 99.0 instead of ")


def test_only_versions_that_differ_are_named() -> None:
    assert different_versions(versions()) == ""
    assert different_versions({**versions(), "NumPy": "1.0"}) == f"NumPy 1.0 instead of {versions()['NumPy']}"
    assert different_versions({}).startswith("dpbench None instead of ")


def test_the_plugins_of_the_sender_are_used_and_no_others(fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path / "before"))
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "fm")
    theirs = {"DPBENCH_PLUGINS_DIR": str(tmp_path)}
    before = registry()
    take_plugins(theirs)
    assert plugin_variables() == theirs
    after = registry()
    assert after is not before
    assert "fm" in after.names("mechanism")
    take_plugins(theirs)
    assert registry() is after, "nothing has changed, so nothing is loaded again"


def test_paths_are_relative_to_the_senders_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    task = RemoteTask(os.path.abspath)
    monkeypatch.chdir("/")
    assert task("people.csv") == str(tmp_path / "people.csv")
    assert RemoteTask(os.path.abspath, folder=str(tmp_path / "not here"))("people.csv") == str(tmp_path / "people.csv")


def test_two_threads_of_a_worker_take_turns() -> None:
    inside: list[int] = []
    most: list[int] = []

    def watched(number: int) -> None:
        inside.append(number)
        threading.Event().wait(0.01)
        most.append(len(inside))
        inside.remove(number)

    threads = [threading.Thread(target=RemoteTask(watched), args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]
