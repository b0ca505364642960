"""The guard ends the processes that use a folder when its parent is gone, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpbench.sweeps.engines.ray_guard import processes_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="processes are looked for in /proc")


def writing(folder: Path) -> subprocess.Popen[bytes]:
    """A process that has a log file of this folder open."""
    folder.mkdir()
    program = "import sys, time; log = open(sys.argv[1], 'w'); print(flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program, str(folder / "log")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()  # the file is open
    return process


def test_when_the_parent_is_gone_the_folder_and_its_processes_go(tmp_path: Path) -> None:
    folder = tmp_path / "ray"
    with writing(folder) as its, writing(tmp_path / "ray2") as other, (folder / "mine").open("w"):
        assert processes_of(str(folder), os.getpid()) == {its.pid}
        command = [sys.executable, "-m", "dpbench.sweeps.engines.ray_guard", str(folder)]
        guard = subprocess.Popen(command, stdin=subprocess.PIPE)
        assert its.poll() is None
        guard.communicate()  # closes the guard's input, as the end of the parent does
        assert its.wait() < 0
        assert not folder.exists()
        assert other.poll() is None, "and neither has this process ended"
        other.kill()
