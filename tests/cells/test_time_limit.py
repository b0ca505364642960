"""A call that takes too long is stopped in any thread, and in a worker the process ends if nothing else helps."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dpbench.cells import time_limit
from dpbench.cells.time_limit import TimeIsOver, within

LONG = 60.0
"""Much longer than any limit here: a test that waits for it fails by its own alarm."""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "REPEAT_SECONDS", 0.01)


def in_main_thread(call: Callable[[], Any]) -> Any:
    return call()


def in_another_thread(call: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


THREADS = pytest.mark.parametrize("somewhere", [in_main_thread, in_another_thread])


def computes() -> None:
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        pass
    raise AssertionError("it was not stopped")


def catches_everything_once() -> None:
    try:
        computes()
    except BaseException:  # noqa: BLE001  as a careless plugin does
        computes()


@THREADS
@pytest.mark.parametrize("call", [computes, catches_everything_once])
def test_what_takes_too_long_is_stopped_even_if_it_catches_the_first_exception(
    somewhere: Callable[..., Any], call: Callable[[], None]
) -> None:
    with pytest.raises(TimeIsOver):
        somewhere(lambda: within(0.05, call))


def test_a_sleep_in_the_main_thread_is_interrupted() -> None:
    with pytest.raises(TimeIsOver):
        within(0.05, lambda: time.sleep(LONG))


@THREADS
@pytest.mark.parametrize("seconds", [None, LONG])
def test_what_ends_in_time_returns_its_result(somewhere: Callable[..., Any], seconds: float | None) -> None:
    assert somewhere(lambda: within(seconds, lambda: 7)) == 7


@THREADS
def test_errors_pass_through(somewhere: Callable[..., Any]) -> None:
    with pytest.raises(ZeroDivisionError):
        somewhere(lambda: within(LONG, lambda: 1 // 0))


@THREADS
def test_nothing_arrives_after_the_call_however_close_its_end_is(somewhere: Callable[..., Any]) -> None:
    def races() -> int:
        stopped = 0
        for _ in range(200):
            try:
                within(0.0005, lambda: time.sleep(0.0005))
            except TimeIsOver:
                stopped += 1
            sum(range(1000))  # a late exception would arrive here
        return stopped

    assert 0 <= somewhere(races) <= 200


def test_an_alarm_that_was_set_before_is_put_back() -> None:
    rung = threading.Event()
    handler = signal.signal(signal.SIGALRM, lambda *_: rung.set())
    signal.setitimer(signal.ITIMER_REAL, LONG)
    try:
        within(LONG, lambda: None)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= LONG
        signal.raise_signal(signal.SIGALRM)
        assert rung.is_set()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


STUCK = """
import signal, time
from dpbench.cells import time_limit

def stuck():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # as in C code that never returns, no exception can arrive
    time.sleep(60)

time_limit.GRACE_SECONDS = 0.1
time_limit.ends_process.set()
time_limit.within(0.1, stuck)
"""


def test_a_worker_process_ends_if_no_exception_can_stop_the_call() -> None:
    assert subprocess.run([sys.executable, "-c", STUCK]).returncode == 1
