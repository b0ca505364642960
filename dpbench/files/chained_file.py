"""A file of records that is only appended to: each line holds a hash of itself and of the line before it.

A changed, removed or inserted line breaks the chain. What no chain shows is that lines are missing at the end, or the whole file.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused, refuse_on
from dpbench.base.file_lock import file_lock

HASH = "hash"
Record = Mapping[str, Any]


class BrokenChain(Refused):
    """A line of the file is not what was appended."""


class ChainedFile:
    """The records of a file that several processes append to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Record]:
        """Return the records in their order; none where there is no file. A line without its end was never appended."""
        return self._checked(self._content())

    def append(self, decide: Callable[[Sequence[Record]], Record]) -> Record:
        """Append the record that ``decide`` makes of all records so far, alone among all processes; it lies on the disk then.

        If ``decide`` raises, nothing is appended.
        """
        with refuse_on(OSError, f"The file {str(self.path)!r} cannot be written."):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with file_lock(self.path.with_name(f"{self.path.name}.lock")):
                content = self._content()
                records = self._checked(content)
                record = decide(records)
                line = {**record, HASH: _hash(record, records[-1][HASH] if records else "")}
                self._write(len(content), f"{json.dumps(line, ensure_ascii=False, allow_nan=False)}\n".encode())
        return line

    def _content(self) -> bytes:
        """Return the whole lines of the file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise Refused(f"The file {str(self.path)!r} cannot be read: {error.strerror}.") from None
        return content[: content.rfind(b"\n") + 1]

    def _checked(self, content: bytes) -> list[Record]:
        records: list[Record] = []
        for number, line in enumerate(content.splitlines(), 1):
            try:
                record = json.loads(line)
                whole = record[HASH] == _hash(record, records[-1][HASH] if records else "")
            except (ValueError, KeyError, TypeError):
                whole = False
            if not whole:
                raise BrokenChain(f"Line {number} of {str(self.path)!r} is not what was appended: the chain of hashes is broken.")
            records.append(record)
        return records

    def _write(self, end: int, line: bytes) -> None:
        """Write a line at the end, over a line that a crash cut off, and wait until it lies on the disk."""
        new = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, end)
            os.lseek(descriptor, end, os.SEEK_SET)
            while line:
                line = line[os.write(descriptor, line) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new and os.name == "posix":
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _hash(record: Record, previous: str) -> str:
    content = {name: value for name, value in record.items() if name != HASH}
    text = json.dumps([previous, content], ensure_ascii=True, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
