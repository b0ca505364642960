"""What worker processes on this machine have in common: how they start, what they ignore, and when they end."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

from dpbench.cells.time_limit import ends_process

TERMINAL_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
"""A terminal sends them to all processes; the parent handles them."""
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""The environment in which linear algebra uses one thread."""


def prepare_worker() -> None:
    """Make this process a worker: it ignores the terminal, ends with its parent and uses one BLAS thread."""
    for number in TERMINAL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="dpbench-parent", daemon=True).start()
    os.environ.update(ONE_THREAD)
    ends_process.set()


def _end_with_parent() -> None:
    """End this worker when its parent has ended, even by SIGKILL, which gives no process the time to stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def start_resource_tracker() -> None:
    """Start the process that removes workers' semaphores, so that a terminal that closes does not end it before this one."""
    with terminal_signals_blocked():
        resource_tracker.ensure_running()


@contextmanager
def terminal_signals_blocked() -> Iterator[None]:
    """Start processes that a terminal does not interrupt: they inherit which signals are blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINAL_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_main() -> Iterator[None]:
    """Keep new processes from importing the caller's main module: a script without a guard would start its sweep again."""
    main = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    main.update(dict.fromkeys(hidden))  # where both are None, spawning imports nothing
    try:
        yield
    finally:
        main.update(hidden)
