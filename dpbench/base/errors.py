"""The two errors that users see: a request was refused, or something that ran could not be finished."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class Refused(Exception):
    """The request itself is wrong: one clear sentence, exit code 2, nothing written."""


class Unfinished(Exception):
    """Something ran and could not be finished: one sentence, exit code 1."""


def unknown(what: str, name: str, known: Iterable[str]) -> Refused:
    """Return the error about an unknown name, in the shape that all such errors have."""
    return Refused(f"There is no {what} named {name!r}.{near_names(name, known)}")


def near_names(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the near names, then all allowed ones."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"{hint} Known: {', '.join(names) or 'none'}."
