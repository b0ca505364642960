"""A process is told from a later one with the same id by when it started."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dpbench.base import processes
from dpbench.base.processes import host_name, start_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not say when a process started")


@pytest.fixture(params=["of this system", "of ps"])
def _source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "of ps":
        if subprocess.run(["which", "ps"], capture_output=True, check=False).returncode:
            pytest.skip("ps is not installed")
        monkeypatch.setattr(processes.sys, "platform", "darwin")


@pytest.mark.usefixtures("_source")
def test_a_running_process_has_one_start() -> None:
    assert start_of(os.getpid())
    assert start_of(os.getpid()) == start_of(os.getpid())


def test_a_process_that_ended_has_none_even_before_its_parent_waits_for_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert start_of(process.pid) not in ("", start_of(os.getpid()))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if sys.platform == "linux":
            assert start_of(process.pid) == ""
    assert start_of(process.pid) == ""


def test_the_process_of_another_user_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(processes.os, "kill", refuse)
    assert start_of(os.getpid()) != ""


def test_the_host_has_a_name() -> None:
    assert host_name() == host_name() != ""
