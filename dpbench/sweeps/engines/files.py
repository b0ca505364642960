"""The engine ``files``: units are files in a folder, which ``python -m dpbench work FOLDER`` runs on any machine that sees it."""

import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from itertools import count
from typing import Any

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.loop import Engine, WorkerDied
from dpbench.sweeps.engines.remote_task import RemoteTask
from dpbench.sweeps.engines.unit_folder import BEGUN, UnitFolder

POLL_SECONDS = 0.1
POLLS_PER_CHECK = 50
"""How often lost files are looked for."""


class Files(Engine):
    """Writes unit files into a folder and waits for the workers that run them. It starts none itself."""

    shares_passes = False
    cells_apart = True
    """A worker that is lost then costs one cell, and results do not depend on how cells were grouped."""

    def __init__(self, folder: str, workers: int | None) -> None:
        self.path = user_path(folder)
        self.workers = workers
        self.slots = workers or sys.maxsize
        self._request: tuple[str, Any] | None = None

    def keep_request(self, name: str, request: Any) -> None:
        self._request = name, request

    def open(self) -> Executor:
        folder = UnitFolder(self.path, create=True)
        if self._request is not None:
            folder.write_request(*self._request)
        self._executor = FolderExecutor(folder)
        return self._executor

    def task(self, task: Any) -> Any:
        return RemoteTask(task)

    def withdraw(self) -> None:
        self._executor.withdraw()

    def close(self, executor: Executor, interrupted: bool) -> None:
        if not interrupted:  # otherwise workers go on, and the same command, or flush, delivers what they finish
            if self._request is not None:
                (self._executor.folder["requests"] / self._request[0]).unlink(missing_ok=True)
            self._executor.clear_up()
        executor.shutdown()


class FolderExecutor(Executor):
    """Futures of results that others write. A result that is there already is used at once."""

    def __init__(self, folder: UnitFolder) -> None:
        self.folder = folder
        self._order = count()
        self._lease = FolderLease(folder["parents"] / secrets.token_hex(8)).__enter__()
        (folder.path / BEGUN).touch()  # after the lease: workers that find no living process then end
        self._waiting: dict[str, tuple[Future[Any], Callable[[Any], Any], Any]] = {}
        self._digests: set[str] = set()
        self._underway = self._published()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dpbench-unit-folder", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        (unit,) = args
        future: Future[Any] = Future()
        with suppress(FileNotFoundError):
            result = self.folder.result(unit.digest)
            if not failed(result):
                future.set_result(result)
                self._digests.add(unit.digest)
                return future
            self.folder.remove("results", [unit.digest])  # another attempt may succeed
        if unit.digest not in self._underway:  # else a parent that has died published it
            self.folder.publish(next(self._order), fn, unit)
        self._digests.add(unit.digest)
        self._waiting[unit.digest] = future, fn, unit
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._ended.set()
        self._thread.join()
        self._lease.__exit__()

    def withdraw(self) -> None:
        """Remove the units that no worker has taken."""
        self.folder.remove("units", self._digests)

    def clear_up(self) -> None:
        """Remove what is left of this sweep: its results have been delivered."""
        self.folder.clear_up(self._lease, self._digests)

    def _watch(self) -> None:
        for poll in count(1):
            with suppress(OSError):  # a file system that does not answer now may do so at the next poll
                self._deliver()
                self.folder.give_back_lost(self._lease)
                if poll % POLLS_PER_CHECK == 0:
                    self._publish_lost()
            if self._ended.wait(POLL_SECONDS):
                return

    def _deliver(self) -> None:
        for digest in self._waiting.keys() & set(os.listdir(self.folder["results"])):
            with suppress(FileNotFoundError):
                result = self.folder.result(digest)
                future, _, _ = self._waiting.pop(digest)
                future.set_result(result)

    def _publish_lost(self) -> None:
        """Publish units again whose files somebody has removed."""
        waiting = dict(self._waiting)
        underway = self._published()  # before the results are looked at: a unit leaves here when its result is there
        for digest in waiting.keys() - underway:
            if not self.folder.has_result(digest):
                _, fn, unit = waiting[digest]
                self.folder.publish(next(self._order), fn, unit)

    def _published(self) -> set[str]:
        # in this order: a file that moves on meanwhile is seen twice rather than not at all
        return {file.digest for place in ("units", "taken", "units") for file in self.folder.files(place)}


class Delivery(Engine):
    """Yields the results that a folder holds, and leaves all other units alone."""

    shares_passes = False
    cells_apart = True
    partial = True

    def __init__(self, folder: UnitFolder, *, only_whole: bool) -> None:
        self.folder = folder
        self.only_whole = only_whole
        self.slots = sys.maxsize
        self.digests: set[str] = set()

    def available(self, units: Iterable[Any]) -> Iterator[Any]:
        """Yield the units with a result. A failed one is delivered only when nothing is missing: until then it may be retried."""
        units = list(units)
        self.digests.update(unit.digest for unit in units)
        results = {unit.digest: self._result(unit.digest) for unit in units}
        whole = all(result is not None for result in results.values())
        for unit in units:
            result = results[unit.digest]
            if whole or not (self.only_whole or result is None or failed(result)):
                yield unit

    def open(self) -> Executor:
        return _Finished(self.folder)

    def _result(self, digest: str) -> Any:
        try:
            return self.folder.result(digest)
        except FileNotFoundError:
            return None


class _Finished(Executor):
    """Futures that are finished: their results are read from the folder."""

    def __init__(self, folder: UnitFolder) -> None:
        self.folder = folder

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self.folder.result(args[0].digest))
        return future


def failed(result: Any) -> bool:
    """Return whether a result says that another attempt may end otherwise."""
    return isinstance(result, WorkerDied) or (isinstance(result, list) and any(block.error for block in result))


def check_folder(folder: str) -> None:
    """Refuse what cannot become a folder of unit files, before anything is written."""
    path = user_path(folder)
    if path.exists() and not path.is_dir():
        raise Refused(f"The 'engine.folder' key must be a folder. Got the file {folder!r} instead.")
