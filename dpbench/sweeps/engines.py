"""Engines: where work units run. One loop over ``concurrent.futures``; an engine defines how workers start and die."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from dpbench.base.errors import Refused, unknown

Unit = TypeVar("Unit")
Result = TypeVar("Result")

MAX_ATTEMPTS = 2
"""A unit whose worker died this often is given up."""
WORTH_STARTING = 4.0
"""Seconds of work from which processes pay: starting them and loading the data in each takes about a second."""


@dataclass(frozen=True)
class WorkerDied:
    """A worker died while it ran this unit, or the unit or its result could not be sent."""

    reason: str


class Engine:
    """Runs units in this process. Subclasses run them elsewhere."""

    slots = 1
    """The number of units in flight. It bounds memory, and how many units one death affects."""

    def open(self) -> Executor:
        return _Inline()

    def close(self, executor: Executor, interrupted: bool) -> None:
        executor.shutdown(wait=not interrupted, cancel_futures=True)


class Local(Engine):
    """Runs units in processes on this machine, each with one BLAS thread."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.slots = workers + 1

    def open(self) -> Executor:
        return _Pool(self.workers)

    def close(self, executor: Executor, interrupted: bool) -> None:
        if interrupted and isinstance(executor, _Pool):
            executor.terminate()
        super().close(executor, interrupted)


def engine_named(name: str, workers: Any, seconds: float) -> Engine:
    """Return the engine of a configuration; ``seconds`` is the estimated time of the whole work on one core."""
    # the cores that this process may use; some systems know only how many there are
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= 1024):
        raise Refused(f"The 'engine.workers' key must be an int in the range [1, 1024] or null. Got {workers!r} instead.")
    workers = workers or cores
    in_processes = {"serial": False, "local": True, "auto": workers > 1 and seconds > WORTH_STARTING}
    if name not in in_processes:
        raise unknown("engine", name, in_processes)
    return Local(workers) if in_processes[name] else Engine()


def run(engine: Engine, task: Callable[[Unit], Result], units: Sequence[Unit]) -> Iterator[tuple[Unit, Result | WorkerDied]]:
    """Yield every unit with its result, in the order in which they finish. A dead worker costs only its own unit.

    When a worker dies, any unit in flight may be the cause: they run again one at a time, and a unit whose worker dies
    while it runs alone is given up.
    """
    waiting = deque((unit, 1) for unit in units)
    suspects: deque[tuple[Unit, int]] = deque()
    flying: dict[Future[Result], tuple[Unit, int]] = {}
    executor = engine.open()
    interrupted = True
    try:
        while waiting or suspects or flying:
            broken = False
            while (suspects and not flying) or (not suspects and waiting and len(flying) < engine.slots):
                unit, attempt = suspects.popleft() if suspects else waiting.popleft()
                try:
                    flying[executor.submit(task, unit)] = unit, attempt
                except BrokenProcessPool:
                    suspects.append((unit, attempt))
                    broken = True
                    break
            for future in wait(flying, return_when=FIRST_COMPLETED).done if flying else ():
                unit, attempt = flying.pop(future)
                failure = future.exception()
                if failure is None:
                    yield unit, future.result()
                elif not isinstance(failure, BrokenProcessPool):  # the unit failed, not its worker
                    yield unit, WorkerDied(f"{type(failure).__name__}: {failure}")
                elif attempt >= MAX_ATTEMPTS:
                    broken = True
                    yield unit, WorkerDied("the worker process died while it ran this cell, twice")
                else:
                    broken = True
                    suspects.append((unit, attempt + 1))
            if broken:  # a death makes the executor unusable
                suspects.extend((unit, attempt + 1) for unit, attempt in flying.values())
                flying.clear()
                engine.close(executor, interrupted=True)
                executor = engine.open()
        interrupted = False
    finally:
        engine.close(executor, interrupted)


class _Pool(ProcessPoolExecutor):
    """Processes that do not import the caller's program, and that can be stopped without touching other processes."""

    def __init__(self, workers: int) -> None:
        _start_resource_tracker()
        # spawned, not forked: a fork copies locks that other threads hold, and only spawning works on every system
        super().__init__(workers, multiprocessing.get_context("spawn"), _prepare_worker)
        self._workers_started: set[multiprocessing.process.BaseProcess] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        before = set(multiprocessing.active_children())
        with _without_main():
            future = super().submit(fn, *args, **kwargs)
        self._workers_started |= set(multiprocessing.active_children()) - before
        return future

    def terminate(self) -> None:
        for process in self._workers_started:
            process.terminate()


def _start_resource_tracker() -> None:
    """Start the process that removes the pool's semaphores, so that a terminal that closes does not end it before this one."""
    if not hasattr(signal, "SIGHUP"):
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})  # new processes inherit what is blocked
    try:
        resource_tracker.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main() -> Iterator[None]:
    """Keep new processes from importing the caller's main module: a script without a guard would start its sweep again."""
    main = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: main[name] for name in ("__spec__", "__file__") if name in main}
    main.update(dict.fromkeys(hidden))  # where both are None, spawning imports nothing
    try:
        yield
    finally:
        main.update(hidden)


class _Inline(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except (Exception, SystemExit) as error:  # noqa: BLE001  the caller gets it from the future, as with any executor
            future.set_exception(error)
        return future


def _prepare_worker() -> None:
    for name in ("SIGINT", "SIGHUP"):  # a terminal sends them to all processes; the parent handles them
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="dpbench-parent", daemon=True).start()
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))


def _end_with_parent() -> None:
    """End this worker when its parent has ended, even by SIGKILL, which gives no process the time to stop its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
