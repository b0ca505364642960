"""An exclusive lock between processes, on a file that holds nothing else."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_threads = threading.Lock()
"""The operating system's locks belong to processes, so the threads of one process take turns by this."""


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock, and hold it. It ends with its process, also if that is killed."""
    with _threads:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait(descriptor)
            yield
        finally:
            os.close(descriptor)  # which gives up the lock


def _wait(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows, whose call gives up after ten seconds
        from importlib import import_module

        windows = import_module("msvcrt")
        while True:
            try:
                windows.locking(descriptor, windows.LK_LOCK, 1)
                return
            except OSError:
                continue
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
