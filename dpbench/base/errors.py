"""The one error a user is meant to see: the request was refused, and why."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class Refused(Exception):
    """The request itself is wrong: one clear sentence, exit code 2, nothing written."""


class Unfinished(Exception):
    """Something was run and could not be brought to its end: one sentence, exit code 1."""


def near_names(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the near names, then every allowed one."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"{hint} Known: {', '.join(names) or 'none'}."


def unknown(what: str, name: str, known: Iterable[str]) -> Refused:
    """An unknown name, in the shape every such error has."""
    return Refused(f"There is no {what} named {name!r}.{near_names(name, known)}")
