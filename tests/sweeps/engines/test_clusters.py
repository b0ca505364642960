"""Clusters that dpbench starts itself, by Dask or by Ray: every unit comes back, and no process is left behind."""

from __future__ import annotations

import importlib
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

from dpbench.sweeps.engines.loop import run

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]


@pytest.fixture(params=["dask", "ray"])
def name(request: pytest.FixtureRequest) -> str:
    """The engine's name, if its package is installed; Ray must not be imported before its settings are made."""
    package = {"dask": "distributed", "ray": "ray"}[request.param]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{request.param.title()} is not installed: pip install -e '.[{request.param}]'")
    return str(request.param)


@pytest.fixture
def engine(name: str) -> Callable[[int], Any]:
    """Makes an engine with this many workers."""
    made = getattr(importlib.import_module(f"dpbench.sweeps.engines.{name}"), name.title())
    return lambda workers: made(workers, None)


def test_every_unit_comes_back_and_only_the_guilty_do_not(
    engine: Any, do: Do, died_of: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    units = [*SQUARES[:6], ("raise",), ("thorny",), ("leave",), ("exit",), ("kill",), *SQUARES[6:]]
    results = dict(run(engine(2), do, units))
    died = "the worker process died while it ran this cell, twice"
    assert died_of(results) == {
        ("raise",): "ValueError: no such luck",
        ("thorny",): "Thorny: one two",
        ("leave",): "SystemExit: 5",
        ("exit",): died,
        ("kill",): died,
    }
    assert {unit: results[unit] for unit in SQUARES} == {unit: unit[1] ** 2 for unit in SQUARES}
    assert capfd.readouterr() == ("", ""), "it says nothing on the terminal"


def test_a_worker_that_is_killed_while_it_works_costs_nothing(engine: Any, do: Do, died_of: Any, tmp_path: Path) -> None:
    gate, pid_file = tmp_path / "gate", tmp_path / "pid"
    waiting = ("write pid and wait for", str(pid_file), str(gate))
    results = {}
    for unit, result in run(engine(2), do, [waiting, *SQUARES]):
        results[unit] = result
        if len(results) == len(SQUARES):
            while not (pid_file.exists() and pid_file.read_text()):  # its worker may still be starting
                time.sleep(0.01)
            os.kill(int(pid_file.read_text()), signal.SIGKILL)
            gate.touch()
    assert results[waiting] == "waited"
    assert died_of(results) == {}
    assert len(results) == 1 + len(SQUARES)


def test_workers_use_one_blas_thread_and_the_same_plugins(
    engine: Any, do: Do, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "DPBENCH_PLUGINS_DIR")
    ((_, environment),) = run(engine(1), do, [("environment", *names)])
    assert environment == {**dict.fromkeys(names, "1"), "DPBENCH_PLUGINS_DIR": str(tmp_path)}


PARENT = """
import sys
from engine_tasks import do
from dpbench.sweeps.engines.MODULE import ENGINE
from dpbench.sweeps.engines.loop import run
for (word, *_), pid in run(ENGINE(2, None), do, [("pid", 1), ("pid", 2), ("pid", 3), *[("sleep", 60)] * 4]):
    print(pid, flush=True)
"""  # without a guard: no worker may run this again


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_cluster_of_our_own_ends_with_its_parent_however_it_ends(
    name: str, do: Do, family: Any, gone: Any, number: int
) -> None:
    program = PARENT.replace("MODULE", name).replace("ENGINE", name.title())
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = {int(parent.stdout.readline()) for _ in range(3)}
        started = family(parent.pid)
        assert pids <= started
        parent.send_signal(number)
    assert gone(started)


def test_a_loop_that_is_left_early_stops_the_cluster(engine: Any, do: Do, gone: Any) -> None:
    running = run(engine(2), do, [("pid", number) for number in range(4)] + [("sleep", 60)] * 8)
    pids = {next(running)[1] for _ in range(4)}
    start = time.monotonic()
    running.close()
    assert gone(pids)
    assert time.monotonic() - start < 30, "it did not wait for the units that were running"
