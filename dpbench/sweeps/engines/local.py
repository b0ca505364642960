"""The engine ``local``: units run in processes on this machine."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from dpbench.sweeps.engines.loop import Engine
from dpbench.sweeps.engines.worker_processes import prepare_worker, start_resource_tracker, without_main


class Local(Engine):
    """Runs units in processes on this machine, each with one BLAS thread."""

    shares_fate = True

    workers: int

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.slots = workers + 1

    def open(self) -> Executor:
        return _Pool(self.workers)

    def died(self, error: BaseException) -> bool:
        return isinstance(error, BrokenProcessPool)

    def close(self, executor: Executor, interrupted: bool) -> None:
        if interrupted and isinstance(executor, _Pool):
            executor.terminate()
        # terminated or not: a pool that is still closing its pipes when the interpreter ends prints a traceback
        executor.shutdown(wait=True, cancel_futures=True)


class _Pool(ProcessPoolExecutor):
    """Processes that do not import the caller's program, and that can be stopped without touching other processes."""

    def __init__(self, workers: int) -> None:
        start_resource_tracker()
        # spawned, not forked: a fork copies locks that other threads hold, and only spawning works on every system
        super().__init__(workers, multiprocessing.get_context("spawn"), prepare_worker)
        self._workers_started: set[multiprocessing.process.BaseProcess] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        before = set(multiprocessing.active_children())
        try:
            with without_main():
                return super().submit(fn, *args, **kwargs)
        finally:  # also if Ctrl-C comes while a process starts
            self._workers_started |= set(multiprocessing.active_children()) - before

    def terminate(self) -> None:
        for process in self._workers_started:
            process.terminate()
