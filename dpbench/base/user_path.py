"""Turn what a user typed into a path."""

import os
from pathlib import Path


def user_path(text: str | os.PathLike[str]) -> Path:
    """Return the path, with ``~`` for the home folder. A ``~name`` of no user stays as it is, where pathlib would raise."""
    return Path(os.path.expanduser(text))


def short_path(path: Path) -> Path:
    """Return the path as it can be typed in the current folder: relative if it lies below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
