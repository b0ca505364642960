"""Work on a folder of unit files: take one, run it, write its result, until nothing more is to come."""

import secrets
import time
from contextlib import suppress
from pathlib import Path

from dpbench.sweeps.engines.files import POLL_SECONDS
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.unit_folder import UnitFile, UnitFolder


def work(path: Path | str, *, until_empty: bool = False) -> int:
    """Run units until the sweep is finished, or until there is none to take, and return how many were run.

    An interruption gives the unit back. A worker whose process is killed loses its unit to others.
    """
    folder = UnitFolder(Path(path))
    finished, group = 0, ""
    with FolderLease(folder["workers"] / secrets.token_hex(8)) as lease:
        while True:
            file = folder.take(lease.path.name, group)
            if file is not None:
                _run(folder, file)
                finished, group = finished + 1, file.group
                continue
            with suppress(OSError):  # a file system that does not answer now may do so at the next poll
                folder.give_back_lost(lease)
            if folder.files("units"):
                continue
            if until_empty or not (folder.files("taken") or folder.awaited(lease)):
                return finished
            time.sleep(POLL_SECONDS)


def _run(folder: UnitFolder, file: UnitFile) -> None:
    done = False
    try:
        task, unit = folder.load(file)
        result = task(unit)
        done = True
    finally:
        if not done:
            folder.give_back(file)
    folder.finish(file, result)
