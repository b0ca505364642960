"""Every unit comes back, from any engine, and a dead worker costs only its own unit."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines import WORTH_STARTING, Engine, Local, WorkerDied, engine_named, run

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]
DEADLY = ["exit", "kill"]


@pytest.fixture
def do(monkeypatch: pytest.MonkeyPatch) -> Do:
    """The task, from a module that workers can import as well."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    task: Do = importlib.import_module("engine_tasks").do
    return task


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError("the engine hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def died_of(results: dict[Any, Any]) -> dict[Any, str]:
    return {unit: result.reason for unit, result in results.items() if isinstance(result, WorkerDied)}


def alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended but was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: set[int], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(map(alive, pids))


@pytest.mark.parametrize("engine", [Engine(), Local(1), Local(2)], ids=["serial", "one worker", "two workers"])
def test_every_unit_comes_back_once(engine: Engine, do: Do) -> None:
    results = list(run(engine, do, SQUARES))
    assert sorted(results) == [(unit, unit[1] ** 2) for unit in SQUARES]


@pytest.mark.parametrize("engine", [Engine(), Local(2)], ids=["serial", "local"])
def test_no_units_are_no_work(engine: Engine, do: Do) -> None:
    assert list(run(engine, do, [])) == []


def test_results_stream_back_unordered(do: Do, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    slow = ("wait for", str(gate))
    seen = []
    for unit, _ in run(Local(2), do, [slow, *SQUARES]):
        seen.append(unit)
        if len(seen) == len(SQUARES):
            gate.touch()  # had results waited for each other, the slow unit would wait for ever
    assert seen[-1] == slow
    assert sorted(seen[:-1]) == SQUARES


def test_no_more_units_are_in_flight_than_slots(do: Do) -> None:
    unfinished: list[int] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **keywords: Any) -> Future[Any]:
            futures.append(super().submit(*arguments, **keywords))
            unfinished.append(sum(not future.done() for future in futures))
            return futures[-1]

    class Threads(Engine):
        slots = 3

        def open(self) -> Executor:
            return Counting(1)

    futures: list[Future[Any]] = []
    assert len(list(run(Threads(), do, [("sleep", 0.002)] * 20))) == 20
    assert 1 < max(unfinished) <= 3


@pytest.mark.parametrize("word", DEADLY)
def test_a_unit_that_always_kills_its_worker_costs_only_itself(do: Do, word: str) -> None:
    units = [*SQUARES[:5], (word,), *SQUARES[5:]]
    results = dict(run(Local(2), do, units))
    assert died_of(results) == {(word,): "the worker process died while it ran this cell, twice"}
    assert {unit: results[unit] for unit in SQUARES} == {unit: unit[1] ** 2 for unit in SQUARES}


def test_two_killers_are_both_blamed_and_nobody_else(do: Do) -> None:
    units = [("exit", 1), ("kill", 2), *SQUARES]
    results = dict(run(Local(2), do, units))
    assert set(died_of(results)) == {("exit", 1), ("kill", 2)}
    assert len(results) == len(units)


def test_a_worker_that_is_killed_once_completes(do: Do, tmp_path: Path) -> None:
    unlucky = ("kill once", str(tmp_path / "mark"))
    results = dict(run(Local(2), do, [*SQUARES, unlucky]))
    assert results[unlucky] == "survived"
    assert died_of(results) == {}


@pytest.mark.parametrize("engine", [Engine(), Local(2)], ids=["serial", "local"])
def test_a_unit_that_raises_costs_only_itself(engine: Engine, do: Do) -> None:
    results = dict(run(engine, do, [("raise",), *SQUARES]))
    assert died_of(results) == {("raise",): "ValueError: no such luck"}
    assert len(results) == len(SQUARES) + 1


@pytest.mark.parametrize("engine", [Engine(), Local(2)], ids=["serial", "local"])
def test_a_unit_that_ends_the_program_costs_only_itself(engine: Engine, do: Do) -> None:
    results = dict(run(engine, do, [("leave",), *SQUARES]))
    assert list(died_of(results)) == [("leave",)]
    assert len(results) == len(SQUARES) + 1


@pytest.mark.parametrize("word", ["thorny", "unsendable"])
def test_what_cannot_be_sent_back_costs_only_itself(do: Do, word: str) -> None:
    results = dict(run(Local(2), do, [*SQUARES[:3], (word,), *SQUARES[3:]]))
    assert list(died_of(results)) == [(word,)]
    assert len(results) == len(SQUARES) + 1


def test_a_unit_that_cannot_be_sent_costs_only_itself(do: Do) -> None:
    unsendable = ("square", lambda: None)
    results = dict(run(Local(2), do, [*SQUARES, unsendable]))
    assert list(died_of(results)) == [unsendable]
    assert len(results) == len(SQUARES) + 1


def test_a_generator_that_is_left_early_stops_its_processes(do: Do) -> None:
    running = run(Local(2), do, [("pid", number) for number in range(4)] + [("sleep", 60)] * 8)
    pids = {next(running)[1] for _ in range(4)}
    assert all(map(alive, pids))
    start = time.monotonic()
    running.close()
    assert gone(pids)
    assert time.monotonic() - start < 30, "it did not wait for the units that were running"
    assert multiprocessing.active_children() == []


def test_an_exception_in_the_loop_stops_the_processes_too(do: Do) -> None:
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
from dpbench.sweeps.engines import Local, run
for (word, *_), pid in run(Local(2), do, [("pid", 1), ("pid", 2), ("pid", 3), *[("sleep", 60)] * 4]):
    print(pid, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_workers_end_with_their_parent_however_it_ends(number: int) -> None:
    command = [sys.executable, "-c", PARENT, str(Path(__file__).parent)]
    # under nohup the tests ignore hangups, and what they start would, too
    heeding = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heeding) as parent:
        assert parent.stdout is not None
        pids = {int(parent.stdout.readline()) for _ in range(3)}
        assert all(map(alive, pids))
        parent.send_signal(number)
    assert gone(pids)


def test_when_all_is_done_no_process_is_left(do: Do) -> None:
    pids = {pid for _, pid in run(Local(2), do, [("pid", number) for number in range(6)])}
    assert gone(pids)
    assert os.getpid() not in pids


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


def test_the_engine_is_chosen_by_name() -> None:
    assert type(engine_named("serial", None, 1e9)) is Engine
    local = engine_named("local", 3, 0.0)
    assert isinstance(local, Local)
    assert local.workers == 3
    assert engine_named("local", None, 0.0).slots == len(os.sched_getaffinity(0)) + 1


def test_the_automatic_choice_starts_processes_only_when_that_pays() -> None:
    assert type(engine_named("auto", 2, WORTH_STARTING)) is Engine
    assert isinstance(engine_named("auto", 2, 1.01 * WORTH_STARTING), Local)
    assert type(engine_named("auto", 1, 1e9)) is Engine, "one worker is this process"


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two", True, 10**6])
def test_a_number_of_workers_that_makes_no_sense_is_refused(workers: Any) -> None:
    with pytest.raises(Refused, match=r"'engine\.workers' key must be an int in the range \[1, 1024\] or null\. Got"):
        engine_named("local", workers, 0.0)


def test_an_unknown_engine_is_refused_with_the_near_names() -> None:
    with pytest.raises(Refused, match=r"no engine named 'lokal'\. Did you mean local.* Known: auto, .*local, .*serial"):
        engine_named("lokal", None, 0.0)
