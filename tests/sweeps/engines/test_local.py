"""The processes of the local engine are its own: they end with it, and with its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Unfinished
from dpbench.sweeps.engines.local import Local
from dpbench.sweeps.engines.loop import run

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]


def test_a_generator_that_is_left_early_stops_its_processes(do: Do, gone: Any, alive: Any) -> None:
    running = run(Local(2), do, [("pid", number) for number in range(4)] + [("sleep", 60)] * 8)
    pids = {next(running)[1] for _ in range(4)}
    assert all(map(alive, pids))
    start = time.monotonic()
    running.close()
    assert gone(pids)
    assert time.monotonic() - start < 30, "it did not wait for the units that were running"
    assert multiprocessing.active_children() == []


def test_an_exception_in_the_loop_stops_the_processes_too(do: Do, gone: Any) -> None:
    pids = set()

    def interrupted() -> None:
        for count, (_, pid) in enumerate(run(Local(2), do, [("pid", 1), ("pid", 2), *[("sleep", 60)] * 3]), start=1):
            pids.add(pid)
            if count == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert gone(pids)


PARENT = """
import sys
sys.path.insert(0, sys.argv[1])
from engine_tasks import do
from dpbench.base.errors import Unfinished
from dpbench.sweeps.engines.local import Local
from dpbench.sweeps.engines.loop import run
for (word, *_), pid in run(Local(2), do, [("pid", 1), ("pid", 2), ("pid", 3), *[("sleep", 60)] * 4]):
    print(pid, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_workers_end_with_their_parent_however_it_ends(number: int, gone: Any, alive: Any) -> None:
    command = [sys.executable, "-c", PARENT, str(Path(__file__).parent)]
    # under nohup the tests ignore hangups, and what they start would, too
    heeding = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heeding) as parent:
        assert parent.stdout is not None
        pids = {int(parent.stdout.readline()) for _ in range(3)}
        assert all(map(alive, pids))
        parent.send_signal(number)
    assert gone(pids)


def test_when_all_is_done_no_process_is_left(do: Do, gone: Any) -> None:
    pids = {pid for _, pid in run(Local(2), do, [("pid", number) for number in range(6)])}
    assert gone(pids)
    assert os.getpid() not in pids


def test_all_processes_start_before_the_first_unit(do: Do) -> None:
    processes = []

    def units() -> Iterator[tuple[str, int]]:
        processes.extend(multiprocessing.active_children())
        yield "square", 2

    assert list(run(Local(3), do, units())) == [(("square", 2), 4)]
    assert len(processes) == 3


def test_processes_that_cannot_all_start_are_stopped_and_named(do: Do, monkeypatch: pytest.MonkeyPatch, gone: Any) -> None:
    pids = []

    def start_one(process: SpawnProcess) -> None:
        if pids:
            raise BlockingIOError("Resource temporarily unavailable")
        start(process)
        pids.append(process.pid)

    start = SpawnProcess.start
    monkeypatch.setattr(SpawnProcess, "start", start_one)
    with pytest.raises(Unfinished, match=r"Not all of 3 worker processes could start: Resource.*engine\.workers starts fewer"):
        list(run(Local(3), do, SQUARES))
    assert len(pids) == 1
    assert gone(pids)


@pytest.mark.parametrize("word", ["close", "death"])
def test_processes_of_somebody_else_are_left_alone(do: Do, word: str) -> None:
    other = multiprocessing.get_context("spawn").Process(target=do, args=(("sleep", 60),))
    other.start()
    try:
        if word == "close":
            running = run(Local(1), do, SQUARES)
            next(running)
            running.close()
        else:
            list(run(Local(1), do, [("exit",)]))
        other.join(0.5)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()


def test_workers_use_one_blas_thread_and_do_not_load_the_callers_program(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    for name in names:
        monkeypatch.setenv(name, "2")
    results = dict(run(Local(1), do, [("environment", *names), ("modules",)]))
    assert set(results["environment", *names].values()) == {"1"}
    assert not {"numpy", "hydra", "mlflow", "pandas"} & set(results["modules",])
