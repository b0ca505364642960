"""Files that a user names: only regular files are opened, because reading a pipe or a device could wait forever."""

import stat
from pathlib import Path

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path


def regular_file(path: str, what: str = "file", hint: str = "") -> Path:
    """Return the file at a path, or refuse what is not a file in one sentence, without opening it."""
    file = user_path(path)
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        raise Refused(f"There is no {what} {path!r}. {hint}".rstrip()) from None
    if stat.S_ISDIR(mode):
        raise Refused(f"The {what} {path!r} must be a file. Got a folder instead: name one of its files.")
    if not stat.S_ISREG(mode):
        raise Refused(f"The {what} {path!r} must be a file on disk. Got a pipe or a device instead: save it to a file first.")
    return file
