"""A folder of unit files that any number of processes, on any machine that sees it, take and answer.

Every step is a rename, which is atomic: a unit file moves from ``units`` to ``taken`` when a worker takes it, and its result
appears in ``results`` as a whole. Files are pickles: anyone who can write to the folder can run code as the people who use it.

A name in ``units`` is ``order~group~digest~attempt``; ``taken`` adds ``~worker``. Units of one group share a table.
"""

import json
import os
import pickle
import stat
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from dpbench.base.errors import Refused
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.loop import WorkerDied
from dpbench.sweeps.engines.remote_task import different_versions, versions

MAX_ATTEMPTS = 3
"""A unit that a lost worker held goes back into the folder at most twice."""
PLACES = ("units", "taken", "results", "workers", "parents", "requests")
BEGUN = "begun"
"""The file that says that a sweep has used this folder: workers that find none wait for the first one."""


class FolderUnit(Protocol):
    """A unit that a folder can hold: its digest names its result."""

    @property
    def digest(self) -> str: ...
    @property
    def name(self) -> str:
        """Units that share a table begin with the same name."""


@dataclass(frozen=True)
class UnitFile:
    """The name of a unit file."""

    order: int
    group: str
    digest: str
    attempt: int = 1
    worker: str = ""

    @property
    def name(self) -> str:
        parts = (f"{self.order:08}", self.group, self.digest, str(self.attempt), *([self.worker] if self.worker else []))
        return "~".join(parts)

    @classmethod
    def of(cls, name: str) -> "UnitFile":
        order, group, digest, attempt, *worker = name.split("~")
        return cls(int(order), group, digest, int(attempt), *worker)


class UnitFolder:
    """The files of a folder. Several processes may use it at once."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path.resolve()
        if create:
            try:
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)  # one that exists keeps the mode its owner chose
                for place in PLACES:
                    self[place].mkdir(exist_ok=True)
            except OSError as error:
                raise Refused(f"The folder {str(path)!r} cannot be used for unit files: {error.strerror}.") from None
        if not all((self.path / place).is_dir() for place in PLACES):
            raise Refused(f"{str(path)!r} is no folder of unit files: a sweep with engine=files engine.folder=… makes one.")
        if sys.platform != "win32" and self.path.stat().st_mode & stat.S_IWOTH:
            raise Refused(f"Everybody may write to {str(path)!r}, and could run code as you: chmod o-w the folder first.")

    def __getitem__(self, place: str) -> Path:
        return self.path / place

    def files(self, place: str) -> list[UnitFile]:
        """Return the unit files of a place, in the order in which they are to be run."""
        return [UnitFile.of(name) for name in sorted(os.listdir(self[place])) if not name.startswith(".")]

    def publish(self, order: int, task: Callable[[Any], Any], unit: FolderUnit) -> None:
        """Write a unit file for workers to take."""
        group = "".join(letter if letter.isalnum() else "-" for letter in unit.name)
        self._write(self["units"] / UnitFile(order, group, unit.digest).name, (task, unit))

    def take(self, worker: str, group: str = "") -> UnitFile | None:
        """Take a unit file: of this group if there is one, else of a group that no other worker has taken, else the first."""
        files = self.files("units")
        busy = {file.group for file in self.files("taken")}
        for file in sorted(files, key=lambda file: (file.group != group, file.group in busy)):
            taken = replace(file, worker=worker)
            with suppress(FileNotFoundError):  # another worker was faster
                os.rename(self["units"] / file.name, self["taken"] / taken.name)
                return taken
        return None

    def load(self, file: UnitFile) -> tuple[Callable[[Any], Any], Any]:
        """Return the task and the unit of a taken file; refuse one that another version wrote."""
        task, unit = self._read(self["taken"] / file.name)
        return task, unit

    def finish(self, file: UnitFile, result: Any) -> None:
        """Write the result of a taken unit."""
        self._write(self["results"] / file.digest, result)
        (self["taken"] / file.name).unlink(missing_ok=True)  # missing if this worker was taken for dead

    def give_back(self, file: UnitFile, *, lost: bool = False) -> None:
        """Put a taken unit back for others; one whose worker is lost counts an attempt, and is given up after the last."""
        if lost and file.attempt >= MAX_ATTEMPTS:
            # three workers ended, perhaps because of this unit
            self.finish(file, WorkerDied(f"the worker process died while it ran this cell, {MAX_ATTEMPTS} times"))
            return
        back = replace(file, worker="", attempt=file.attempt + lost)
        with suppress(FileNotFoundError):  # another process gave it back, or its worker was only slow and has finished it
            os.rename(self["taken"] / file.name, self["units"] / back.name)

    def give_back_lost(self, lease: FolderLease) -> None:
        """Put units back whose workers have died. ``lease`` is that of the caller: its file shows what time it is."""
        for file in self.files("taken"):
            if lease.sees_dead(self["workers"] / file.worker):
                self.give_back(file, lost=True)

    def has_result(self, digest: str) -> bool:
        return (self["results"] / digest).exists()

    def result(self, digest: str) -> Any:
        """Return a result. One that cannot be used is no result: it is removed, and raises FileNotFoundError."""
        path = self["results"] / digest
        try:
            return self._read(path)
        except (Refused, pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError) as error:
            path.unlink(missing_ok=True)
            raise FileNotFoundError(digest) from error

    def remove(self, place: str, digests: Collection[str]) -> None:
        """Remove the unit files, or results, with these digests."""
        for name in os.listdir(self[place]):
            parts = name.split("~")
            if parts[min(2, len(parts) - 1)] in digests:
                (self[place] / name).unlink(missing_ok=True)

    def clear_up(self, lease: FolderLease, digests: Collection[str]) -> None:
        """Remove what a finished sweep leaves: units and results with these digests, or all if no other sweep uses the folder."""
        for place in ("workers", "parents"):
            for path in self[place].glob("[!.]*"):
                if lease.sees_dead(path):  # its process was killed
                    path.unlink(missing_ok=True)
        others = [path for place in ("parents", "requests") for path in self[place].glob("[!.]*") if path != lease.path]
        for place in ("units", "results"):
            everything = {name.split("~")[min(2, name.count("~"))] for name in os.listdir(self[place])}
            self.remove(place, digests if others else everything)

    def write_request(self, name: str, request: Any) -> None:
        """Keep what a sweep asks for, so that its results can be delivered without its process."""
        self._write(self["requests"] / name, request)

    def requests(self) -> Mapping[str, Any]:
        """Return the requests of sweeps that are not finished."""
        names = [name for name in sorted(os.listdir(self["requests"])) if not name.startswith(".")]
        return {name: self._read(self["requests"] / name) for name in names}

    def awaited(self, lease: FolderLease) -> bool:
        """Return whether more units may come: a sweep's process lives, or none has used this folder yet."""
        parents = self["parents"].glob("[!.]*")
        return any(not lease.sees_dead(path) for path in parents) or not (self.path / BEGUN).exists()

    def _write(self, path: Path, value: Any) -> None:
        temporary = path.with_name(f".{path.name}~{os.getpid()}")
        temporary.write_bytes(json.dumps(versions()).encode() + b"\n" + pickle.dumps(value))
        os.replace(temporary, path)

    def _read(self, path: Path) -> Any:
        header, _, content = path.read_bytes().partition(b"\n")
        if different := different_versions(json.loads(header)):
            raise Refused(
                f"The files in {str(self.path)!r} were written with {different}: use the same versions, or a new folder."
            )
        return pickle.loads(content)
