"""The cache folder for downloaded data (the user's cache on this system, or ``DPBENCH_CACHE``), with a checksum for each file."""

import hashlib
import os
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from dpbench.base.errors import Refused, refuse_on
from dpbench.base.user_path import user_path
from dpbench.files.user_files import regular_file

LAYOUT_VERSION = "1"
"""Increase this number when the layout of the cache folder changes."""

CHECKSUMS = "sha256.txt"


def cache_folder(*parts: str) -> Path:
    """Return a folder below the cache, which need not exist."""
    variable = os.environ.get("DPBENCH_CACHE")
    folder = user_path(variable) if variable else _user_cache() / "dp-regression-bench"
    return folder.joinpath(LAYOUT_VERSION, *parts)


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def user_file_checksum(path: str) -> str:
    """Return the checksum of a user's file, computed again only if its date or size has changed."""
    file = regular_file(path)
    with refuse_on(OSError, f"There is no file {path!r}."):
        status = file.stat()
        return _cached_checksum(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _cached_checksum(path: Path, changed: int, size: int) -> str:
    return sha256(path)


def stored_checksums(folder: Path) -> dict[str, str]:
    """Return the checksums that the files of a folder had when they were first downloaded."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {name: checksum for checksum, _, name in (line.partition("  ") for line in lines) if name}


def store_checksum(folder: Path, name: str, checksum: str) -> None:
    """Add a checksum, in the format of `sha256sum --check`."""
    checksums = {**stored_checksums(folder), name: checksum}
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write("".join(f"{value}  {key}\n" for key, value in sorted(checksums.items())))
    os.replace(file.name, folder / CHECKSUMS)  # atomic, so that no process reads half a file


def verify_checksum(path: Path, command: str) -> str:
    """Return the checksum of a downloaded file, or refuse the file if it has changed since; ``command`` downloads it again."""
    stored, actual = stored_checksums(path.parent).get(path.name), sha256(path)
    if stored is None:
        raise Refused(f"The cache folder has no checksum of {path.name}. {command} downloads it again.")
    if actual != stored:
        raise Refused(
            f"The file {path.name} in the cache folder is not the one that was downloaded first: its sha256 has changed. "
            f"Delete it, and {command} downloads it again."
        )
    return actual
