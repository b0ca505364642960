"""Units run on Dask's workers: a cluster of our own leaves nothing behind, and a scheduler that runs already is used."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused, Unfinished
from dpbench.sweeps.engines.loop import run

pytest.importorskip("distributed", reason="Dask is not installed: pip install -e '.[dask]'")

from dpbench.sweeps.engines.dask import Dask

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]


def test_every_unit_comes_back_and_only_the_guilty_do_not(do: Do, died_of: Any, capfd: pytest.CaptureFixture[str]) -> None:
    units = [*SQUARES[:6], ("raise",), ("thorny",), ("leave",), ("exit",), ("kill",), *SQUARES[6:]]
    results = dict(run(Dask(2, None), do, units))
    died = "the worker process died while it ran this cell, twice"
    assert died_of(results) == {
        ("raise",): "ValueError: no such luck",
        ("thorny",): "Thorny: one two",
        ("leave",): "SystemExit: 5",
        ("exit",): died,
        ("kill",): died,
    }
    assert {unit: results[unit] for unit in SQUARES} == {unit: unit[1] ** 2 for unit in SQUARES}
    assert capfd.readouterr() == ("", ""), "Dask says nothing on the terminal"


def test_a_worker_that_is_killed_while_it_works_costs_nothing(do: Do, died_of: Any, tmp_path: Path) -> None:
    gate, pid_file = tmp_path / "gate", tmp_path / "pid"
    waiting = ("write pid and wait for", str(pid_file), str(gate))
    results = {}
    for unit, result in run(Dask(2, None), do, [waiting, *SQUARES]):
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
    ((_, environment),) = run(Dask(1, None), do, [("environment", *names)])
    assert environment == {**dict.fromkeys(names, "1"), "DPBENCH_PLUGINS_DIR": str(tmp_path)}


PARENT = """
import sys
from engine_tasks import do
from dpbench.sweeps.engines.dask import Dask
from dpbench.sweeps.engines.loop import run
for (word, *_), pid in run(Dask(2, None), do, [("pid", 1), ("pid", 2), ("pid", 3), *[("sleep", 60)] * 4]):
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
    running = run(Dask(2, None), do, [("pid", number) for number in range(4)] + [("sleep", 60)] * 8)
    pids = {next(running)[1] for _ in range(4)}
    start = time.monotonic()
    running.close()
    assert gone(pids)
    assert time.monotonic() - start < 30, "it did not wait for the units that were running"


@pytest.fixture
def cluster(do: Do, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A cluster with one worker that has two threads, as somebody else would have started it; it prints its address."""
    program = (
        "from distributed import LocalCluster; import sys\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(1, threads_per_worker=2, host='127.0.0.1', dashboard_address='127.0.0.1:0') as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        sys.stdin.read()\n"
    )
    (tmp_path / "cluster.py").write_text(program)
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, str(tmp_path / "cluster.py")], **streams) as running:
        yield running


@pytest.fixture
def scheduler(cluster: subprocess.Popen[str]) -> str:
    assert cluster.stdout is not None
    return cluster.stdout.readline().strip()


def test_a_scheduler_that_is_lost_ends_the_sweep_with_a_sentence(
    do: Do, scheduler: str, cluster: subprocess.Popen[str], caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted() -> None:
        for _ in run(Dask(None, scheduler), do, [*SQUARES[:2], ("sleep", 60), ("sleep", 61)]):
            cluster.kill()

    with pytest.raises(Unfinished, match="lost the process that hands out its units"):
        interrupted()
    assert caplog.text == ""


def test_a_scheduler_that_runs_already_is_used_and_left_alone(do: Do, scheduler: str, alive: Any) -> None:
    units = [("one at a time", number) for number in range(6)]
    results = dict(run(Dask(None, scheduler), do, units))
    assert set(results.values()) == {1}, "two threads of a process never run units at the same time"
    ((_, pid),) = run(Dask(None, scheduler), do, [("pid", 1)])
    assert alive(pid)


def test_an_address_where_nobody_answers_any_more_is_a_sentence(monkeypatch: pytest.MonkeyPatch, do: Do) -> None:
    monkeypatch.setattr("dpbench.sweeps.engines.dask.CONNECT_SECONDS", 1)
    with pytest.raises(Unfinished, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"):
        list(run(Dask(None, "tcp://127.0.0.1:1"), do, SQUARES))


def test_dask_that_is_not_installed_is_refused_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Refused, match=r"`pip install 'dp-regression-bench\[dask\]'`"):
        Dask(2, None)
