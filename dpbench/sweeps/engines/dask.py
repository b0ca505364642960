"""The engine ``dask``: units run on the workers of a Dask scheduler, or of a cluster on this machine that ends with the sweep."""

import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from functools import partial
from typing import Any
from weakref import WeakSet

from dpbench.base.errors import Refused, Unfinished
from dpbench.sweeps.engines.loop import Engine
from dpbench.sweeps.engines.remote_task import RemoteTask
from dpbench.sweeps.engines.worker_processes import start_resource_tracker, without_main

CONNECT_SECONDS = 10
QUIET = logging.CRITICAL + 1


class Dask(Engine):
    """Runs units on Dask workers. Without a scheduler's address, the workers are processes on this machine."""

    def __init__(self, workers: int | None, scheduler: str | None) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise Refused("engine=dask needs Dask: `pip install 'dp-regression-bench[dask]'`.") from None
        self.workers = workers
        self.scheduler = scheduler
        self._client: Any = None
        self._resources = ExitStack()

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Return one unit more than there are workers now: a cluster may grow."""
        if self.workers is not None:
            return self.workers + 1
        try:
            return 1 + max(1, len(self._client.nthreads()))
        except OSError:  # the scheduler is gone: what is in flight says so
            return 1

    def open(self) -> Executor:
        import dask.config
        from distributed import Client, LocalCluster

        os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"  # read by the worker processes
        for name in ("distributed", *logging.root.manager.loggerDict):  # some of its loggers have levels of their own
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(QUIET)
        address: Any = self.scheduler
        if self.scheduler is None:
            # a worker that dies is started again, and must not import the caller's program either
            self._resources.enter_context(without_main())
            start_resource_tracker()
            self._resources.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": 0}))
            address = self._resources.enter_context(
                LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    silence_logs=QUIET,
                    preload=["dpbench.sweeps.engines.dask_worker"],
                )
            )
        try:
            self._client = self._resources.enter_context(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
        except (OSError, ValueError) as error:
            self._resources.close()
            raise Unfinished(f"No Dask scheduler answers at {self.scheduler!r}: {str(error).partition(chr(10))[0]}") from None
        return _ClientExecutor(self._client)

    def task(self, task: Any) -> Any:
        return RemoteTask(task)

    def died(self, error: BaseException) -> bool:
        from distributed import KilledWorker

        return isinstance(error, KilledWorker)

    def close(self, executor: Executor, interrupted: bool) -> None:
        if self._client.status == "running":  # else the scheduler is gone
            executor.shutdown(wait=False)
        self._resources.close()


class _ClientExecutor(Executor):
    """Futures of units that a client sends. If the connection to the scheduler is lost, they are cancelled.

    Dask's own executor leaves a future pending for ever if the connection is lost while its result is on the way.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._remotes: WeakSet[Any] = WeakSet()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self._client.status != "running":
            future.cancel()
            future.set_running_or_notify_cancel()
            return future
        remote = self._client.submit(fn, *args, pure=False, **kwargs)
        self._remotes.add(remote)
        remote.add_done_callback(partial(_deliver, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Release what is still queued."""
        self._client.cancel(list(self._remotes))


def _deliver(future: Future[Any], remote: Any) -> None:
    """Pass on what became of a unit."""
    try:
        if remote.status == "error":
            future.set_exception(remote.exception())
            return
        if remote.status == "finished":
            future.set_result(remote.result())
            return
    except OSError:  # the result was on the way: the connection is lost
        pass
    except Exception as error:  # noqa: BLE001  a result that cannot be read fails its own unit
        future.set_exception(error)
        return
    future.cancel()
    future.set_running_or_notify_cancel()  # wakes up who waits for it
