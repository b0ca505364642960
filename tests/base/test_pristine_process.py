"""A task in a pristine process knows nothing that happened since the process was put aside, and reaches nothing else."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from dpbench.base import pristine_process
from dpbench.base.pristine_process import SUPPORTED, TaskFailed, put_aside, run_pristine

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="only Linux forks a process safely")

MEMORY: list[str] = []


def memory() -> list[str]:
    return MEMORY


def twice(values: np.ndarray) -> np.ndarray:
    return 2 * values


def names_on_the_stack() -> list[str]:
    frame, names = sys._getframe(), []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


def fail() -> None:
    raise ArithmeticError("a text that may quote a row")


def look_around() -> int:
    return len(gc.get_objects())


def read_a_file() -> str:
    return Path("/etc/hostname").read_text(encoding="utf-8")


def write_a_file() -> int:
    return Path("code.py").write_text("", encoding="utf-8")


def start_a_process() -> int:
    return os.system("true")


def end() -> None:
    os._exit(0)


def sleep() -> None:
    time.sleep(60)


@pytest.fixture(autouse=True)
def copy() -> Iterator[None]:
    """Puts a copy of this process aside, and ends it."""
    MEMORY.clear()
    put_aside(lambda: MEMORY.append("prepared"))
    yield
    assert pristine_process._copy is not None
    pristine_process._copy.end()
    pristine_process._copy = None


def test_a_task_has_the_memory_of_the_moment_when_the_copy_was_made() -> None:
    MEMORY.append("a row")
    assert run_pristine(memory, seconds=10) == ["prepared"]


def test_arguments_and_results_travel_to_the_bit() -> None:
    values = np.random.default_rng(0).normal(size=(3, 2))
    assert run_pristine(twice, values, seconds=10).tobytes() == (2 * values).tobytes()


def test_its_stack_does_not_lead_to_those_who_hold_rows() -> None:
    assert "test_its_stack_does_not_lead_to_those_who_hold_rows" not in run_pristine(names_on_the_stack, seconds=10)


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (fail, "it ends with ArithmeticError"),
        (look_around, "it is not allowed to use gc.get_objects"),
        (read_a_file, "it is not allowed to open a file"),
        (write_a_file, "it is not allowed to open a file"),
        (start_a_process, "it is not allowed to use os.system"),
        (end, "it took too long, or ended its process"),
    ],
)
def test_a_task_that_fails_says_why_without_its_text_and_the_next_one_runs(task: Callable[[], object], reason: str) -> None:
    with pytest.raises(TaskFailed) as failure:
        run_pristine(task, seconds=10)
    assert str(failure.value) == reason
    assert run_pristine(memory, seconds=10) == ["prepared"]


def test_a_task_ends_at_its_time_limit() -> None:
    with pytest.raises(TaskFailed, match="took too long"):
        run_pristine(sleep, seconds=0.2)
    assert run_pristine(memory, seconds=10) == ["prepared"]


PARENT = """
import sys, time
from dpbench.base import pristine_process
pristine_process.put_aside(lambda: None)
print(pristine_process._copy._process, flush=True)
if sys.argv[1] == "busy":
    pristine_process.run_pristine(time.sleep, 60, seconds=60)
time.sleep(60)
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_the_copy_and_its_task_end_with_the_process_that_made_it(state: str) -> None:
    def group(leader: int) -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(FileNotFoundError, ProcessLookupError):
                word, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
                found += [path.parent.name] if int(its_group) == leader and word != "Z" else []
        return found

    def wait_for(count: int) -> None:
        end = time.monotonic() + 20
        while len(group(copy)) != count and time.monotonic() < end:
            time.sleep(0.01)
        assert len(group(copy)) == count

    command = [sys.executable, "-c", PARENT, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        copy = int(parent.stdout.readline())
        wait_for(2 if state == "busy" else 1)
        parent.kill()
    wait_for(0)
