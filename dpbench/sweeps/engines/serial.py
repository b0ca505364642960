"""The engine ``serial``: units run in this process, one after the other."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from dpbench.sweeps.engines.loop import Engine


class Serial(Engine):
    """Runs units in this process."""

    def open(self) -> Executor:
        return _Inline()


class _Inline(Executor):
    """Runs each call at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except (Exception, SystemExit) as error:  # noqa: BLE001  the caller gets it from the future, as with any executor
            future.set_exception(error)
        return future
