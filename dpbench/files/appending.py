"""Append to a file that several processes share."""

import os
from contextlib import suppress
from pathlib import Path


def append_line(file: Path, line: str) -> None:
    """Append a line in one write, so that no other process's line lands inside it.

    A file that cannot be written is left alone: what is kept this way saves time, and nothing is wrong without it.
    """
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, f"{line.rstrip()}\n".encode())
        finally:
            os.close(descriptor)
