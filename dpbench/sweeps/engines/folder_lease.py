"""The lease of a process that uses a folder of unit files: a file that names the process and is touched while it lives."""

import json
import os
import threading
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from dpbench.base.processes import host_name, start_of

HEARTBEAT_SECONDS = 15.0
MAX_SILENCE_SECONDS = 300.0
"""A process on another machine that touched its file longer ago is dead. On this machine its process id tells."""


class FolderLease(AbstractContextManager["FolderLease"]):
    """The lease of this process, in a file that is removed when the process is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="dpbench-folder-lease", daemon=True)

    def __enter__(self) -> "FolderLease":
        owner = {"host": host_name(), "process": os.getpid(), "start": start_of(os.getpid())}
        temporary = self.path.with_name(f".{self.path.name}")
        temporary.write_text(json.dumps(owner), encoding="utf-8")
        os.replace(temporary, self.path)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.path.unlink(missing_ok=True)

    def sees_dead(self, path: Path) -> bool:
        """Return whether the process of another lease has died: its process has ended, or its file was not touched for long.

        The times of both files come from the clock of the file system, so that clocks of machines may differ.
        """
        try:
            owner, touched = json.loads(path.read_text(encoding="utf-8")), path.stat().st_mtime
        except FileNotFoundError:
            return True
        if owner["host"] == host_name() and (start := start_of(owner["process"])) is not None:
            return bool(start != owner["start"])
        return self.path.stat().st_mtime - touched > MAX_SILENCE_SECONDS

    def _renew(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(OSError):  # a file system that does not answer now may do so at the next beat
                os.utime(self.path)
