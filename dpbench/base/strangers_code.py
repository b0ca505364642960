"""Run code of plugins: its time is limited, any error that it raises is returned, and nothing that it prints is our output."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TypeVar

T = TypeVar("T")


class Unresponsive(Exception):
    """A task did not end within its time."""


def attempt(task: Callable[[], T], seconds: float) -> T | BaseException:
    """Return what a task returns or raises, be it SystemExit or KeyboardInterrupt, or :class:`Unresponsive` after this time.

    The task runs in a thread, so that neither sleep nor a loop can stop the caller, and a real Ctrl-C ends the caller. Code that
    never lets another thread run, such as a regular expression that backtracks for hours, cannot be limited in this way.
    """
    results: list[T | BaseException] = []

    def run() -> None:
        try:
            results.append(task())
        except BaseException as error:  # noqa: BLE001  a stranger's code can raise anything
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not results:
        # ends a loop at once, and a sleeping thread when it wakes
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit))
        return Unresponsive()
    return results[0]


@contextmanager
def stdout_is_stderr() -> Iterator[None]:
    """Send what is printed inside to the error stream, also by programs that are started: others read tables and JSON."""
    with redirect_stdout(sys.stderr), _descriptor(1, 2):
        yield


@contextmanager
def _descriptor(number: int, target: int) -> Iterator[None]:
    """Let a file descriptor be another one, if both are open."""
    saved = None
    with suppress(OSError):
        saved = os.dup(number)
        os.dup2(target, number)
    try:
        yield
    finally:
        if saved is not None:
            os.dup2(saved, number)
            os.close(saved)
