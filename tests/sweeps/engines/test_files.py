"""Units that travel as files come back once, on any worker, and whatever became of the process that asked for them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines import files
from dpbench.sweeps.engines.files import Delivery, Files, check_folder
from dpbench.sweeps.engines.folder_worker import work
from dpbench.sweeps.engines.loop import WorkerDied, run
from dpbench.sweeps.engines.unit_folder import UnitFolder

Do = Callable[[Any], Any]


@pytest.fixture
def tasks(do: Do) -> Any:
    return importlib.import_module("engine_tasks")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "units here"


@contextmanager
def workers(path: Path, count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start workers on a folder that is there, and see that they end by themselves."""
    UnitFolder(path, create=True)
    started = [
        subprocess.Popen([sys.executable, "-m", "dpbench", "work", str(path)], stdout=subprocess.DEVNULL) for _ in range(count)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.wait()


def units(tasks: Any, *words: tuple[Any, ...]) -> list[Any]:
    return [tasks.Named(each) for each in words]


def left(path: Path) -> list[str]:
    return sorted(name for place in path.iterdir() if place.is_dir() for name in os.listdir(place))


def test_every_unit_comes_back_and_nothing_is_left(tasks: Any, path: Path) -> None:
    asked = units(tasks, *[("square", number) for number in range(20)], ("raise",), ("leave",))
    with workers(path, 2):
        results = {unit.words: result for unit, result in run(Files(str(path), None), tasks.do_named, asked)}
    assert results.pop(("raise",)) == WorkerDied("ValueError: no such luck")
    assert results.pop(("leave",)) == WorkerDied("SystemExit: 5")
    assert results == {("square", number): number**2 for number in range(20)}
    assert left(path) == []


def test_a_worker_that_is_killed_loses_nothing_and_one_that_always_dies_is_blamed(tasks: Any, path: Path, tmp_path: Path) -> None:
    asked = units(tasks, ("kill once", str(tmp_path / "mark")), ("kill",), *[("square", number) for number in range(5)])
    with workers(path, 6):
        results = {unit.words: result for unit, result in run(Files(str(path), None), tasks.do_named, asked)}
    assert results.pop(("kill",)) == WorkerDied("the worker process died while it ran this cell, 3 times")
    assert results.pop(("kill once", str(tmp_path / "mark"))) == "survived"
    assert results == {("square", number): number**2 for number in range(5)}
    assert left(path) == [], "not even the leases of those that were killed"


def test_no_more_units_are_published_than_asked_for(tasks: Any, path: Path) -> None:
    published: list[int] = []

    def asked() -> Iterator[Any]:
        for unit in units(tasks, *[("square", number) for number in range(10)]):
            published.append(len(UnitFolder(path).files("units")) + len(UnitFolder(path).files("taken")))
            yield unit

    with workers(path, 1):
        assert len(list(run(Files(str(path), 2), tasks.do_named, asked()))) == 10
    assert max(published) < 2


def test_a_process_that_starts_again_uses_what_was_finished_without_it(tasks: Any, path: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    asked = units(tasks, ("count", str(mark), 1), ("count", str(mark), 2), ("count", str(mark), 3))
    interrupted = run(Files(str(path), None), tasks.do_named, asked)
    with workers(path, 1):
        next(interrupted)
        interrupted.close()  # the worker goes on until nothing is left
    assert mark.read_text() == "xxx"
    results = list(run(Files(str(path), None), tasks.do_named, asked))
    assert len(results) == 3
    assert mark.read_text() == "xxx", "nothing ran again"
    assert left(path) == []


def test_a_failed_result_is_not_used_again(tasks: Any, path: Path, tmp_path: Path) -> None:
    (unit,) = units(tasks, ("square", 3))
    folder = UnitFolder(path, create=True)
    folder.publish(0, tasks.do_named, unit)
    file = folder.take("w")
    assert file is not None
    folder.finish(file, WorkerDied("of something else"))
    with workers(path, 1):
        assert list(run(Files(str(path), None), tasks.do_named, [unit])) == [(unit, 9)]


def test_a_unit_whose_file_somebody_removed_is_published_again(tasks: Any, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "POLLS_PER_CHECK", 1)
    running = run(Files(str(path), None), tasks.do_named, Removing(units(tasks, ("square", 2), ("square", 3)), path))
    with workers(path, 1):
        assert sorted(result for _, result in running) == [4, 9]


class Removing:
    """Units of which the first is removed as soon as it was published."""

    def __init__(self, units: list[Any], path: Path) -> None:
        self.units, self.path = units, path

    def __iter__(self) -> Iterator[Any]:
        yield self.units[0]
        folder = UnitFolder(self.path)
        folder.remove("units", [file.digest for file in folder.files("units")])
        folder.remove("results", [self.units[0].digest])
        yield self.units[1]


def test_withdrawing_leaves_nothing_for_workers_to_begin(tasks: Any, path: Path) -> None:
    def asked() -> Iterator[Any]:
        yield from units(tasks, ("square", 2), ("square", 3))
        assert len(UnitFolder(path).files("units")) == 2
        engine.withdraw()
        raise KeyboardInterrupt

    engine = Files(str(path), None)
    with pytest.raises(KeyboardInterrupt):
        list(run(engine, tasks.do_named, asked()))
    assert left(path) == []


def test_the_request_is_kept_while_results_are_awaited(tasks: Any, path: Path) -> None:
    def asked() -> Iterator[Any]:
        assert UnitFolder(path).requests() == {"sweep": "what it asks for"}
        yield from units(tasks, ("square", 2))

    for _ in range(2):
        engine = Files(str(path), None)
        engine.keep_request("sweep", "what it asks for")
        with workers(path, 1):
            assert len(list(run(engine, tasks.do_named, asked()))) == 1
        assert UnitFolder(path).requests() == {}


def test_a_delivery_yields_what_is_there_and_failures_only_when_all_is(tasks: Any, path: Path) -> None:
    asked = units(tasks, ("square", 2), ("raise",), ("square", 3))
    folder = UnitFolder(path, create=True)

    def delivered(*, only_whole: bool = False) -> list[Any]:
        return [result for _, result in run(Delivery(folder, only_whole=only_whole), tasks.do_named, asked)]

    assert delivered() == []
    for order, unit in enumerate(asked[:2]):
        folder.publish(order, files.RemoteTask(tasks.do_named), unit)
    work(path, until_empty=True)
    assert delivered() == [4]
    assert delivered(only_whole=True) == []
    folder.publish(2, files.RemoteTask(tasks.do_named), asked[2])
    work(path, until_empty=True)
    everything = [4, WorkerDied("ValueError: no such luck"), 9]
    assert sorted(map(str, delivered())) == sorted(map(str, delivered(only_whole=True))) == sorted(map(str, everything))


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"'engine\.folder' key must be a folder\. Got the file"):
        check_folder(str(tmp_path / "file"))
    check_folder(str(tmp_path / "to come"))
