"""The task that workers run, and a look at processes."""

from __future__ import annotations

import importlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dpbench.sweeps.engines.loop import WorkerDied

Do = Callable[[Any], Any]


@pytest.fixture
def do(monkeypatch: pytest.MonkeyPatch) -> Do:
    """The task, from a module that workers can import as well."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    task: Do = importlib.import_module("engine_tasks").do
    return task


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError("the engine hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(100)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def died_of() -> Callable[[dict[Any, Any]], dict[Any, str]]:
    """Of results by unit: the reasons of those that have none."""
    return lambda results: {unit: result.reason for unit, result in results.items() if isinstance(result, WorkerDied)}


@pytest.fixture(scope="session")
def alive() -> Callable[[int], bool]:
    """Whether a process still runs; one that has ended but was not waited for does not."""

    def runs(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    return runs


@pytest.fixture(scope="session")
def gone(alive: Callable[[int], bool]) -> Callable[..., bool]:
    """Whether processes have ended, or do so within some seconds."""

    def ended(pids: set[int], within: float = 20.0) -> bool:
        end = time.monotonic() + within
        while any(map(alive, pids)) and time.monotonic() < end:
            time.sleep(0.01)
        return not any(map(alive, pids))

    return ended


@pytest.fixture(scope="session")
def family() -> Callable[[int], set[int]]:
    """The processes that a process has started, and those that they have started."""

    def descendants(pid: int) -> set[int]:
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended
                parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        found, new = set(), {pid}
        while new:
            new = {child for child, parent in parents.items() if parent in new}
            found |= new
        return found

    return descendants
