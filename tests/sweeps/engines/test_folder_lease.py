"""A lease tells whether a process that uses a folder still lives, on this machine and on others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpbench.sweeps.engines import folder_lease
from dpbench.sweeps.engines.folder_lease import MAX_SILENCE_SECONDS, FolderLease


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[FolderLease]:
    with FolderLease(tmp_path / "mine") as own:
        yield own


def other(tmp_path: Path, silent: float = 0.0, **owner: object) -> Path:
    """Another process's lease, last touched this many seconds before mine."""
    mine = json.loads((tmp_path / "mine").read_text())
    path = tmp_path / "other"
    path.write_text(json.dumps({**mine, **owner}))
    touched = (tmp_path / "mine").stat().st_mtime - silent
    os.utime(path, (touched, touched))
    return path


def test_a_process_that_runs_here_lives_however_long_it_is_silent(lease: FolderLease, tmp_path: Path) -> None:
    assert not lease.sees_dead(other(tmp_path, silent=10 * MAX_SILENCE_SECONDS))


def test_a_process_that_has_ended_here_is_dead_at_once(lease: FolderLease, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert lease.sees_dead(other(tmp_path, process=process.pid))


def test_another_process_with_the_same_id_is_not_the_one_that_held_the_lease(lease: FolderLease, tmp_path: Path) -> None:
    assert lease.sees_dead(other(tmp_path, start="in another life"))


@pytest.mark.parametrize(("silent", "dead"), [(0.9, False), (1.1, True)])
def test_a_process_of_another_machine_lives_while_it_touches_its_file(
    lease: FolderLease, tmp_path: Path, silent: float, dead: bool
) -> None:
    assert lease.sees_dead(other(tmp_path, silent * MAX_SILENCE_SECONDS, host="elsewhere")) is dead


def test_a_lease_that_is_gone_is_that_of_a_process_that_is_done(lease: FolderLease, tmp_path: Path) -> None:
    assert lease.sees_dead(tmp_path / "nobody")


def test_the_file_is_touched_while_the_process_lives_and_removed_when_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lease, "HEARTBEAT_SECONDS", 0.001)
    touched = []
    monkeypatch.setattr(folder_lease.os, "utime", touched.append)
    with FolderLease(tmp_path / "mine"):
        while len(touched) < 3:
            pass
    assert set(touched) == {tmp_path / "mine"}
    assert list(tmp_path.iterdir()) == []
