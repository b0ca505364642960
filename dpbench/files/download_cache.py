"""The folder for downloaded data: the user's cache of this system, or ``DPBENCH_CACHE``; and the checksums remembered there."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from dpbench.base.errors import Refused

VARIABLE = "DPBENCH_CACHE"
VERSION = "1"
"""Raised when what lies in the folder is laid out anew."""

CHECKSUMS = "sha256.txt"


def cache_folder(*parts: str) -> Path:
    """A folder below the cache; it need not be there."""
    named = os.environ.get(VARIABLE)
    return (Path(named).expanduser() if named else _users_cache() / "dp-regression-bench").joinpath(VERSION, *parts)


def _users_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(path: str) -> str:
    """The sha256 of a user's file, whatever its date; read again only when date or size have changed."""
    place = Path(path).expanduser()
    try:
        status = place.stat()
        return _digest(place, status.st_mtime_ns, status.st_size)
    except OSError:
        raise Refused(f"There is no file {path!r}.") from None


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    return sha256(path)


def remembered(folder: Path) -> dict[str, str]:
    """The checksums of the files in a folder, as they were when they were first downloaded."""
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def remember(folder: Path, name: str, digest: str) -> None:
    """Add a checksum, in the format of `sha256sum --check`; half a file is never seen."""
    known = {**remembered(folder), name: digest}
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write("".join(f"{value}  {key}\n" for key, value in sorted(known.items())))
    os.replace(file.name, folder / CHECKSUMS)


def enforce(path: Path, how: str) -> str:
    """The checksum of a downloaded file, refused when it is not the remembered one."""
    known = remembered(path.parent).get(path.name)
    found = sha256(path)
    if known is None:
        raise Refused(f"No checksum is remembered for {path.name} in the cache folder. {how} downloads it again.")
    if found != known:
        raise Refused(
            f"The file {path.name} in the cache folder is not the one that was downloaded first: its sha256 has changed. "
            f"Delete it, and {how} downloads it again."
        )
    return found
