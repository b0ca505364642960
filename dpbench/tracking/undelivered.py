"""Keep finished cells in a folder while their store cannot be written, until the next command delivers them."""

import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dpbench.files.download_cache import cache_folder
from dpbench.records.cell_record import CellRecord
from dpbench.tracking.cell_files import write_cell_files
from dpbench.tracking.store import Store
from dpbench.tracking.store_uri import sqlite_path
from dpbench.tracking.stored_cells import read_cell_file

FOLDER_SUFFIX = ".undelivered"
_SWEEP_FILE = "sweep.txt"


@dataclass(frozen=True)
class Undelivered:
    """A finished cell that waits in a folder, and the run of the sweep that it belongs to."""

    record: CellRecord
    sweep: str
    folder: Path

    def remove(self) -> None:
        """Forget the cell: it is delivered."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # other cells wait there
            self.folder.parent.rmdir()
            self.folder.parent.parent.rmdir()


def keep(record: CellRecord, sweep: str | None, store: Store) -> Path:
    """Write a finished cell into the first folder that can be written, and return that folder."""
    failure: OSError | None = None
    for home in _homes(store):
        try:
            _make_private(home)
            with tempfile.TemporaryDirectory(prefix=".", dir=home) as name:
                folder = Path(name, record.key)
                write_cell_files(record, folder)
                (folder / _SWEEP_FILE).write_text(sweep or "", encoding="utf-8")
                shutil.rmtree(home / record.key, ignore_errors=True)
                os.replace(folder, home / record.key)
            return home
        except OSError as error:
            failure = error
    assert failure is not None
    raise failure


def undelivered(store: Store) -> Iterator[Undelivered]:
    """Yield the cells that wait for this store, from folders that no other user can have written to."""
    for home in filter(_is_private, _homes(store)):
        for folder in sorted(home.glob("[!.]*")):
            with suppress(OSError, ValueError, KeyError):  # another process delivers it
                record = read_cell_file(folder.as_uri(), store.uri)
                if record is not None:
                    yield Undelivered(record, (folder / _SWEEP_FILE).read_text(encoding="utf-8"), folder)


def _make_private(home: Path) -> None:
    """Make a place for cells, or raise an OSError if another user could read or change what is kept there."""
    for folder in (home.parent, home):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _is_own(folder):
            raise PermissionError(errno.EPERM, "another user owns the folder or may write to it", str(folder))


def _is_private(home: Path) -> bool:
    return _is_own(home.parent) and _is_own(home)


def _is_own(folder: Path) -> bool:
    """Return whether this is a real folder, not a link, that belongs to this user and that nobody else may write to."""
    try:
        status = folder.lstat()
    except OSError:  # most stores have nothing that waits
        return False
    if not stat.S_ISDIR(status.st_mode) or not hasattr(os, "getuid"):
        return stat.S_ISDIR(status.st_mode)
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _homes(store: Store) -> list[Path]:
    """Return where cells are kept, the best place first: next to the store, in the user's cache, with the temporary files."""
    digest = hashlib.sha256(store.shown.encode()).hexdigest()[:16]
    path = sqlite_path(store.uri)
    next_to_it = [path.with_name(path.stem + FOLDER_SUFFIX)] if path else []
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    temporary = Path(tempfile.gettempdir(), f"dpbench{user}-{digest}{FOLDER_SUFFIX}")
    return [home / store.experiment_id for home in (*next_to_it, cache_folder("undelivered", digest), temporary)]
