"""The engine ``ray``: units run on a Ray cluster, or on one on this machine that ends with the sweep."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from typing import Any

from dpbench.base.errors import Refused, Unfinished
from dpbench.cells.time_limit import ends_process
from dpbench.sweeps.engines import ray_guard
from dpbench.sweeps.engines.loop import Engine
from dpbench.sweeps.engines.remote_task import RemoteTask
from dpbench.sweeps.engines.worker_processes import ONE_THREAD, terminal_signals_blocked

OBJECT_STORE_BYTES = 256 * 2**20
"""Results are small; by default Ray takes a third of the machine's memory."""
QUIET = logging.CRITICAL + 1
SETTINGS = {
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",  # or SIGTERM ends this process before it can close its sweep
    "RAY_USAGE_STATS_ENABLED": "0",  # by default Ray reports how it is used
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without it Ray warns of its own future
}


class Ray(Engine):
    """Runs units on Ray workers. Without an address, Ray starts on this machine."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        os.environ.update(SETTINGS)  # Ray reads them when it is imported
        try:
            with warnings.catch_warnings(action="ignore"):
                import ray  # noqa: F401
        except ImportError:
            raise Refused("engine=ray needs Ray: `pip install 'dp-regression-bench[ray]'`.") from None
        self.workers = workers
        self.address = address
        self._resources = ExitStack()

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Return one unit more than there are processors now: a cluster may grow."""
        import ray

        return 1 + (self.workers or max(1, int(ray.cluster_resources().get("CPU", 1))))

    def open(self) -> Executor:
        import ray
        from ray._private import ray_constants, worker

        logging.getLogger("ray").setLevel(QUIET)
        # deaths of workers are printed whatever is asked for; the loop reports them
        self._resources.callback(setattr, worker, "print_to_stdstream", worker.print_to_stdstream)
        worker.print_to_stdstream = lambda *_, **__: None
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self.address is None:
            folder = self._resources.enter_context(_guarded_folder())
            os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = "0"  # in Ray's processes,
            ray_constants.ENABLE_RAY_CLUSTER = False  # and in this one: this is what makes Ray listen on 127.0.0.1 only
            options |= {"num_cpus": self.workers, "include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
            options |= {"_temp_dir": folder, "_node_ip_address": "127.0.0.1"}
        try:
            with warnings.catch_warnings(action="ignore"), terminal_signals_blocked(), _sigterm_kept():
                ray.init(self.address or "local", runtime_env={"env_vars": ONE_THREAD}, **options)
        except (OSError, RuntimeError, ValueError) as error:  # ConnectionError is an OSError
            self._resources.close()
            where = f"answer at {self.address!r}" if self.address else "start"
            raise Unfinished(f"Ray does not {where}: {str(error).partition(chr(10))[0]}") from None
        self._resources.callback(ray.shutdown)
        return _RayExecutor()

    def task(self, task: Any) -> Any:
        return RemoteTask(task)

    def died(self, error: BaseException) -> bool:
        from ray.exceptions import NodeDiedError, OutOfMemoryError, WorkerCrashedError

        return isinstance(error, (WorkerCrashedError, OutOfMemoryError, NodeDiedError))

    def close(self, executor: Executor, interrupted: bool) -> None:
        self._resources.close()


@contextmanager
def _sigterm_kept() -> Iterator[None]:
    """Put back what SIGTERM does: Ray replaces it by an exit that closes no sweep."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextmanager
def _guarded_folder() -> Iterator[str]:
    """Yield a folder for Ray's files and sockets. A guard ends what Ray leaves behind, even if this process is killed."""
    folder = tempfile.mkdtemp(prefix="ray-")
    command = [sys.executable, "-m", ray_guard.__name__, folder]
    with terminal_signals_blocked():
        guard = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        yield folder
    finally:
        guard.communicate()


class _RayExecutor(Executor):
    """Ray's tasks as futures."""

    def __init__(self) -> None:
        import ray

        # the loop retries what a dead worker ran: it knows which unit was the cause
        self._call = ray.remote(_call).options(num_cpus=1, max_retries=0)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._call.remote(fn, *args, **kwargs).future()
        return future


def _call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    ends_process.set()
    return fn(*args, **kwargs)
