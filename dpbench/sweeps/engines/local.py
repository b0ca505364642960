"""The engine ``local``: units run in processes on this machine."""

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from dpbench.base.errors import Unfinished
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
        assert isinstance(executor, _Pool)
        if interrupted:
            executor.terminate()
        # terminated or not: a pool that is still closing its pipes when the interpreter ends prints a traceback
        executor.shutdown(wait=True, cancel_futures=True)
        executor.terminate()  # a pool that was sent no unit leaves its processes running


class _Pool(ProcessPoolExecutor):
    """Processes that do not import the caller's program, and that can be stopped without touching other processes."""

    def __init__(self, workers: int) -> None:
        start_resource_tracker()
        # spawned, not forked: a fork copies locks that other threads hold, and only spawning works on every system
        super().__init__(workers, multiprocessing.get_context("spawn"), prepare_worker)
        before = set(multiprocessing.active_children())
        try:
            with without_main():
                for _ in range(workers):
                    # before any unit is sent: a process that starts while another dies is given queues that are being closed
                    self._adjust_process_count()
        except OSError as error:
            sentence = f"Not all of {workers} worker processes could start: {error}. engine.workers starts fewer."
            raise Unfinished(sentence) from None
        finally:  # also if Ctrl-C comes while a process starts
            self._started = set(multiprocessing.active_children()) - before
            if len(self._started) < workers:
                self.terminate()

    def terminate(self) -> None:
        for process in self._started:
            process.terminate()
        for process in self._started:
            process.join()
