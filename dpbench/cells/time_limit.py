"""Stop a call that takes too long: by an alarm in the main thread, by an exception from outside in others.

Neither can stop code that never returns to Python. In a worker process a watchdog then ends the process.
"""

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

REPEAT_SECONDS = 1.0
"""A plugin may catch the first exception, so it is raised again and again until the call has ended."""
GRACE_SECONDS = 10.0
"""A worker whose unit has not ended this long after its time is over ends itself."""


class TimeIsOver(BaseException):
    """Raised inside a call that takes too long. Not an Exception: code that handles every error does not handle this one."""


def within(seconds: float | None, call: Callable[[], Result]) -> Result:
    """Return what a call returns, or raise TimeIsOver if it takes longer than this; None sets no limit."""
    if seconds is None:
        return call()
    with _watchdog(seconds):
        main = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        return (_with_alarm if main else _with_exceptions_from_outside)(seconds, call)


ends_process = threading.Event()
"""Set in worker processes: there a call that cannot be stopped may end the whole process."""


def _with_alarm(seconds: float, call: Callable[[], Result]) -> Result:
    before, over = (0.0, 0.0), False

    def ring(*_: Any) -> None:
        if not over:
            raise TimeIsOver

    def stop() -> None:
        nonlocal over
        while not over:
            with suppress(TimeIsOver):  # the alarm may ring in this very line
                over = True
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, handler)

    handler = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            before = signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_SECONDS)
            return call()
        finally:
            stop()
    finally:  # reached also if the alarm rings before the line above begins
        stop()


def _with_exceptions_from_outside(seconds: float, call: Callable[[], Result]) -> Result:
    """Raise TimeIsOver in this thread from another one. Python has no public function for it, except to C.

    Bare locks, because an exception that arrives inside an Event or a condition would leave it broken.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    begun, ended, turn, over = threading.Lock(), threading.Lock(), threading.Lock(), False
    begun.acquire()
    ended.acquire()

    def watch() -> None:
        begun.acquire()  # no exception while the call's thread is still starting this one
        wait = seconds
        while not ended.acquire(timeout=wait):
            with turn:
                if not over:
                    raise_in(thread, ctypes.py_object(TimeIsOver))
            wait = REPEAT_SECONDS

    def stop() -> None:
        nonlocal over
        stopped = False
        while not stopped:
            with suppress(TimeIsOver), turn:
                over = True
                raise_in(thread, None)  # one that is on its way would arrive after the call
                stopped = True
        if ended.locked():
            ended.release()

    threading.Thread(target=watch, name="dpbench-time-limit", daemon=True).start()
    try:
        try:
            begun.release()
            return call()
        finally:
            stop()
    finally:  # reached also if the exception arrives before the line above begins
        stop()


@contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    if not ends_process.is_set():
        yield
        return
    timer = threading.Timer(seconds + GRACE_SECONDS, os._exit, [1])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
