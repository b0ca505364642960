"""Claim cells before they run, so that two sweeps at once share the work instead of doing it twice.

A claim ends with its process, however that ends: it is a lock of the operating system or of the database, and no record. A server
has no locks: there a sweep lists the cells that it runs, and others leave them to it as long as its lease is alive.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dpbench.records import names
from dpbench.tracking.leases import is_alive
from dpbench.tracking.store import Store, artifact_path
from dpbench.tracking.store_uri import scheme, sqlite_path

if TYPE_CHECKING:
    from mlflow.entities import Run
    from sqlalchemy import Connection

LOCK_SUFFIX = ".claims"
CLAIMS_FILE = "claims.json"


class Claims(Protocol):
    """The claims of this process on the cells of one experiment."""

    exclusive: bool
    """Whether no other process can hold the same claim."""

    def take(self, keys: Collection[str]) -> set[str]:
        """Claim cells, and return those that no other process has claimed."""

    def release(self, keys: Collection[str]) -> None:
        """Give claims back: the cells are recorded, or have failed."""

    def close(self) -> None:
        """Give all claims back."""


def claims_on(store: Store, sweep: str | None) -> Claims:
    """Return this process's claims on the cells of a store; ``sweep`` is the run of its sweep."""
    path = sqlite_path(store.uri)
    if path is not None and os.name == "posix":
        return _FileClaims(path.with_name(path.name + LOCK_SUFFIX), store.experiment_id)
    if scheme(store.uri) == "postgresql":
        return _AdvisoryClaims(store)
    return _ListedClaims(store, sweep)


def _number(experiment: str, key: str) -> int:
    """Return a number below 2⁶² that stands for a cell."""
    return int.from_bytes(hashlib.sha256(f"{experiment} {key}".encode()).digest()[:8], "big") >> 2


class _FileClaims:
    """Locks on single bytes of a file next to a SQLite store. It is removed by the last process that has claims."""

    exclusive = True

    def __init__(self, path: Path, experiment: str) -> None:
        self._path, self._experiment = path, experiment
        self._file = self._opened()
        self._held: set[int] = set()

    def take(self, keys: Collection[str]) -> set[str]:
        return {key for key in keys if self._lock(_number(self._experiment, key))}

    def release(self, keys: Collection[str]) -> None:
        import fcntl

        for number in self._held.intersection(_number(self._experiment, key) for key in keys):
            self._held.discard(number)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)

    def close(self) -> None:
        import fcntl

        with suppress(OSError):  # another process has claims
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the whole file
            if self._is_current():
                self._path.unlink()
        os.close(self._file)

    def _lock(self, number: int) -> bool:
        import fcntl

        while number not in self._held:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
            except OSError:
                return False
            if self._is_current():
                self._held.add(number)
            else:  # the last process with claims has just removed this file
                os.close(self._file)
                self._file = self._opened()
        return True

    def _opened(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self._path))
        except FileNotFoundError:
            return False


class _AdvisoryClaims:
    """Advisory locks of PostgreSQL, held by a connection of their own."""

    exclusive = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection: Connection | None = None
        self._held: set[str] = set()

    def take(self, keys: Collection[str]) -> set[str]:
        new = [key for key in keys if key not in self._held]
        self._held |= self._store.patience.call(lambda: self._locked(new)) if new else set()
        return self._held.intersection(keys)

    def release(self, keys: Collection[str]) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        for key in self._held.intersection(keys):
            self._held.discard(key)
            if self._connection is not None:
                try:
                    self._connection.exec_driver_sql(f"SELECT pg_advisory_unlock({_number(self._store.experiment_id, key)})")
                except SQLAlchemyError:  # the connection is lost, and all of its locks with it
                    self.close()

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):  # the locks end with the connection, however it ends
                self._connection.close()
            self._connection = None

    def _locked(self, keys: Iterable[str]) -> set[str]:
        """Lock cells; a new connection, after the old one was lost, first locks again what this process has claimed."""
        from sqlalchemy.exc import DBAPIError

        try:
            if self._connection is None:
                self._connection = self._store.database.connect().execution_options(isolation_level="AUTOCOMMIT")
                self._held = {key for key in self._held if self._lock(key)}
            return {key for key in keys if self._lock(key)}
        except DBAPIError:
            self.close()
            raise

    def _lock(self, key: str) -> bool:
        assert self._connection is not None
        number = _number(self._store.experiment_id, key)
        return bool(self._connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({number})").scalar())


class _ListedClaims:
    """The cells that each running sweep lists in a file. Two sweeps that begin at the same moment may both run a cell."""

    exclusive = False

    def __init__(self, store: Store, sweep: str | None) -> None:
        self._store, self._sweep = store, sweep
        self._mine: set[str] = set()

    def take(self, keys: Collection[str]) -> set[str]:
        new = set(keys) - self._mine
        if new and self._sweep:
            before = self._others()
            free = new - {key for claimed in before.values() for key in claimed}
            if free:
                self._mine |= free
                self._store.client.log_dict(self._sweep, {"keys": sorted(self._mine)}, CLAIMS_FILE)
                # what another sweep has listed since then, it has claimed at the same moment: the smaller id keeps it
                for sweep, claimed in self._others().items():
                    if sweep < self._sweep:
                        self._mine -= set(claimed) - set(before.get(sweep, ()))
        elif new:
            self._mine |= new - {key for claimed in self._others().values() for key in claimed}
        return self._mine.intersection(keys)

    def release(self, keys: Collection[str]) -> None:
        pass  # the others read the list as long as the sweep runs; what is recorded they find recorded

    def close(self) -> None:
        self._mine.clear()

    def _others(self) -> dict[str, list[str]]:
        """Return the keys that the other running sweeps have listed, by sweep."""
        query = f"tags.`{names.KIND}` = 'sweep' and attributes.status = 'RUNNING'"
        others = [run for run in self._store.search(query) if run.info.run_id != self._sweep and is_alive(run)]
        return {run.info.run_id: self._listed(run) for run in others}

    def _listed(self, run: "Run") -> list[str]:
        path = artifact_path(self._store.uri, run.info.artifact_uri, CLAIMS_FILE)
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path else {}
        return list(content.get("keys", ()))
