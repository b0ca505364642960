"""Code of plugins ends in time, raises nothing, and writes nothing to standard output."""

from __future__ import annotations

import os
import threading

import pytest

from dpbench.base.strangers_code import Unresponsive, attempt, stdout_is_stderr


def raising(error: BaseException) -> None:
    raise error


def looping(ended: threading.Event) -> None:
    try:
        while True:
            pass
    finally:
        ended.set()


def test_a_task_that_ends_in_time_returns_its_result() -> None:
    assert attempt(lambda: 7, 60) == 7


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException()])
def test_every_error_is_returned(error: BaseException) -> None:
    assert attempt(lambda: raising(error), 60) is error


def test_a_task_that_waits_for_ever_is_left() -> None:
    assert isinstance(attempt(threading.Event().wait, 0.05), Unresponsive)


def test_a_loop_that_is_left_ends() -> None:
    ended = threading.Event()
    assert isinstance(attempt(lambda: looping(ended), 0.05), Unresponsive)
    assert ended.wait(60)


def test_what_python_and_other_programs_print_goes_to_the_error_stream(capfd: pytest.CaptureFixture[str]) -> None:
    with stdout_is_stderr():
        print("a", flush=True)
        os.system("echo b")
    print("c", flush=True)
    os.system("echo d")
    assert capfd.readouterr() == ("c\nd\n", "a\nb\n")
