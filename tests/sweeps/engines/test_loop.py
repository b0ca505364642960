"""Every unit comes back, from any engine, and a dead worker costs only its own unit."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpbench.base.errors import Unfinished
from dpbench.sweeps.engines.local import Local
from dpbench.sweeps.engines.loop import Engine, run
from dpbench.sweeps.engines.serial import Serial

Do = Callable[[Any], Any]
SQUARES = [("square", number) for number in range(12)]


DEADLY = ["exit", "kill"]


@pytest.mark.parametrize("engine", [Serial(), Local(1), Local(2)], ids=["serial", "one worker", "two workers"])
def test_every_unit_comes_back_once(engine: Engine, do: Do) -> None:
    results = list(run(engine, do, SQUARES))
    assert sorted(results) == [(unit, unit[1] ** 2) for unit in SQUARES]


@pytest.mark.parametrize("engine", [Serial(), Local(2)], ids=["serial", "local"])
def test_no_units_are_no_work(engine: Engine, do: Do, capfd: pytest.CaptureFixture[str]) -> None:
    assert list(run(engine, do, [])) == []
    assert multiprocessing.active_children() == []
    assert capfd.readouterr().err == ""


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
def test_a_unit_that_always_kills_its_worker_costs_only_itself(do: Do, word: str, died_of: Any) -> None:
    units = [*SQUARES[:5], (word,), *SQUARES[5:]]
    results = dict(run(Local(2), do, units))
    assert died_of(results) == {(word,): "the worker process died while it ran this cell, twice"}
    assert {unit: results[unit] for unit in SQUARES} == {unit: unit[1] ** 2 for unit in SQUARES}


def test_two_killers_are_both_blamed_and_nobody_else(do: Do, died_of: Any) -> None:
    units = [("exit", 1), ("kill", 2), *SQUARES]
    results = dict(run(Local(2), do, units))
    assert set(died_of(results)) == {("exit", 1), ("kill", 2)}
    assert len(results) == len(units)


def test_a_unit_that_runs_again_runs_alone(monkeypatch: pytest.MonkeyPatch, died_of: Any) -> None:
    class Died(Exception):
        """What the future of a dead worker raises."""

    class Later(Executor):
        def submit(self, _: Any, unit: Any, /) -> Future[Any]:  # type: ignore[override]
            sent.append((unit, [other for other, _ in unfinished]))
            unfinished.append((unit, Future()))
            return unfinished[-1][1]

    class Workers(Engine):
        slots = 3

        def open(self) -> Executor:
            return Later()

        def died(self, error: BaseException) -> bool:
            return isinstance(error, Died)

    def finish_the_oldest(*_: Any, **__: Any) -> SimpleNamespace:
        unit, future = unfinished.pop(0)
        if unit == "deadly":
            future.set_exception(Died())
        else:
            future.set_result(unit)
        return SimpleNamespace(done={future})

    sent: list[tuple[Any, list[Any]]] = []
    unfinished: list[tuple[Any, Future[Any]]] = []
    monkeypatch.setattr("dpbench.sweeps.engines.loop.wait", finish_the_oldest)
    results = dict(run(Workers(), lambda unit: unit, ["deadly", 1, 2, 3, 4, 5, 6]))
    assert set(died_of(results)) == {"deadly"}
    again = [unit for unit, _ in sent].index("deadly", 1)
    assert sent[again][1] == [], "the units that were in flight have finished"
    assert sent[again + 1][1] == [], "no unit joins it"
    assert max(len(others) for _, others in sent) == 2


def test_a_worker_that_is_killed_once_completes(do: Do, tmp_path: Path, died_of: Any) -> None:
    unlucky = ("kill once", str(tmp_path / "mark"))
    results = dict(run(Local(2), do, [*SQUARES, unlucky]))
    assert results[unlucky] == "survived"
    assert died_of(results) == {}


@pytest.mark.parametrize("engine", [Serial(), Local(2)], ids=["serial", "local"])
def test_a_unit_that_raises_costs_only_itself(engine: Engine, do: Do, died_of: Any) -> None:
    results = dict(run(engine, do, [("raise",), *SQUARES]))
    assert died_of(results) == {("raise",): "ValueError: no such luck"}
    assert len(results) == len(SQUARES) + 1


@pytest.mark.parametrize("engine", [Serial(), Local(2)], ids=["serial", "local"])
def test_a_unit_that_ends_the_program_costs_only_itself(engine: Engine, do: Do, died_of: Any) -> None:
    results = dict(run(engine, do, [("leave",), *SQUARES]))
    assert list(died_of(results)) == [("leave",)]
    assert len(results) == len(SQUARES) + 1


@pytest.mark.parametrize("word", ["thorny", "unsendable"])
def test_what_cannot_be_sent_back_costs_only_itself(do: Do, word: str, died_of: Any) -> None:
    results = dict(run(Local(2), do, [*SQUARES[:3], (word,), *SQUARES[3:]]))
    assert list(died_of(results)) == [(word,)]
    assert len(results) == len(SQUARES) + 1


def test_a_unit_that_cannot_be_sent_costs_only_itself(do: Do, died_of: Any) -> None:
    unsendable = ("square", lambda: None)
    results = dict(run(Local(2), do, [*SQUARES, unsendable]))
    assert list(died_of(results)) == [unsendable]
    assert len(results) == len(SQUARES) + 1


@pytest.mark.parametrize("engine", [Serial(), Local(2)], ids=["serial", "local"])
def test_a_unit_is_taken_only_when_a_slot_is_free(engine: Engine, do: Do) -> None:
    taken: list[int] = []

    def units() -> Iterator[tuple[str, int]]:
        for number in range(8):
            taken.append(number)
            yield "square", number

    for finished, _ in enumerate(run(engine, do, units())):
        assert len(taken) <= finished + engine.slots
    assert taken == list(range(8))


def test_an_executor_that_cancels_what_it_was_given_ends_the_sweep_with_a_sentence(do: Do) -> None:
    class Cancelling(Executor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    class Lost(Engine):
        def open(self) -> Executor:
            return Cancelling()

    with pytest.raises(Unfinished, match="Lost lost the process that hands out its units"):
        list(run(Lost(), do, SQUARES))
