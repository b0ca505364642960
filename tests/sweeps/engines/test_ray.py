"""Units run on Ray's workers: a cluster of our own leaves nothing behind, and only this machine can reach it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines.loop import run

if importlib.util.find_spec("ray") is None:  # importing it here would be too early for its settings
    pytest.skip("Ray is not installed: pip install -e '.[ray]'", allow_module_level=True)

from dpbench.sweeps.engines.ray import Ray

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]


def test_every_unit_comes_back_and_only_the_guilty_do_not(do: Do, died_of: Any, capfd: pytest.CaptureFixture[str]) -> None:
    units = [*SQUARES[:6], ("raise",), ("thorny",), ("leave",), ("exit",), ("kill",), *SQUARES[6:]]
    results = dict(run(Ray(2, None), do, units))
    died = "the worker process died while it ran this cell, twice"
    assert died_of(results) == {
        ("raise",): "ValueError: no such luck",
        ("thorny",): "Thorny: one two",
        ("leave",): "SystemExit: 5",
        ("exit",): died,
        ("kill",): died,
    }
    assert {unit: results[unit] for unit in SQUARES} == {unit: unit[1] ** 2 for unit in SQUARES}
    assert capfd.readouterr() == ("", ""), "Ray says nothing on the terminal"


def test_a_worker_that_is_killed_while_it_works_costs_nothing(do: Do, died_of: Any, tmp_path: Path) -> None:
    gate, pid_file = tmp_path / "gate", tmp_path / "pid"
    waiting = ("write pid and wait for", str(pid_file), str(gate))
    results = {}
    for unit, result in run(Ray(2, None), do, [waiting, *SQUARES]):
        results[unit] = result
        if len(results) == len(SQUARES):
            os.kill(int(pid_file.read_text()), signal.SIGKILL)
            gate.touch()
    assert results[waiting] == "waited"
    assert died_of(results) == {}
    assert len(results) == 1 + len(SQUARES)


def test_workers_use_one_blas_thread_and_the_same_plugins(do: Do, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "DPBENCH_PLUGINS_DIR")
    ((_, environment),) = run(Ray(1, None), do, [("environment", *names)])
    assert environment == {**dict.fromkeys(names, "1"), "DPBENCH_PLUGINS_DIR": str(tmp_path)}


PARENT = """
import sys
from engine_tasks import do
from dpbench.sweeps.engines.ray import Ray
from dpbench.sweeps.engines.loop import run
for (word, *_), pid in run(Ray(2, None), do, [("pid", 1), ("pid", 2), ("pid", 3), *[("sleep", 60)] * 4]):
    print(pid, flush=True)
"""  # without a guard: no worker may run this again


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_cluster_of_our_own_ends_with_its_parent_however_it_ends(do: Do, family: Any, gone: Any, number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = {int(parent.stdout.readline()) for _ in range(3)}
        started = family(parent.pid)
        assert pids <= started
        parent.send_signal(number)
    assert gone(started)


def test_a_loop_that_is_left_early_stops_the_cluster(do: Do, gone: Any) -> None:
    running = run(Ray(2, None), do, [("pid", number) for number in range(4)] + [("sleep", 60)] * 8)
    pids = {next(running)[1] for _ in range(4)}
    start = time.monotonic()
    running.close()
    assert gone(pids)
    assert time.monotonic() - start < 30, "it did not wait for the units that were running"


def test_only_this_machine_can_reach_a_cluster_of_our_own(do: Do) -> None:
    """Every socket that is open while a unit runs, and was not open before, listens on the loopback interface."""
    before = listening()
    ((_, sockets),) = run(Ray(1, None), do, [("listening",)])
    opened = set(sockets) - before
    assert opened, "Ray's own processes listen"
    assert {address for address, _ in opened} <= {"0100007F", "0000000000000000FFFF00000100007F"}


def listening() -> set[tuple[str, str]]:
    """The sockets that listen: address and port, as the kernel writes them."""
    return set(importlib.import_module("engine_tasks").do(("listening",)))


def test_ray_does_not_report_how_it_is_used(do: Do) -> None:
    ((_, environment),) = run(Ray(1, None), do, [("environment", "RAY_USAGE_STATS_ENABLED")])
    assert environment == {"RAY_USAGE_STATS_ENABLED": "0"}


def test_ray_that_is_not_installed_is_refused_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Refused, match=r"`pip install 'dp-regression-bench\[ray\]'`"):
        Ray(2, None)
