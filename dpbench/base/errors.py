"""The errors that users see, how others become refusals or omissions, and sentences about names: unknown or badly spelled."""

import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T")


class Refused(Exception):
    """The request itself is wrong: one clear sentence, exit code 2, nothing written."""


class Inapplicable(Refused):
    """A combination of a table and a model makes no sense: a single run is refused, a sweep prunes the cell."""


class PackageMissing(Refused):
    """A plugin's component needs a package that is not installed: the sentence says how to install it."""


class Unfinished(Exception):
    """Something ran and could not be finished: one sentence, exit code 1."""


def described(error: BaseException, text: str = "") -> str:
    """Return what an unexpected error is, what it says (or the given text instead), and where it was raised, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{last.filename.rpartition('/')[2]}:{last.lineno} in {last.name}"
    return " ".join(f"{type(error).__name__}: {text or error} ({where})".split())


@contextmanager
def refuse_on(errors: type[Exception] | tuple[type[Exception], ...], sentence: str) -> Iterator[None]:
    """Replace errors of a library by a refusal; their own messages, which may quote private values, are lost."""
    try:
        yield
    except errors:
        raise Refused(sentence) from None


class Omissions:
    """The parts of a report that errors prevented, while its other parts were made."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[str, None]] = {}
        """The missing parts of each error."""

    def attempt(self, part: str, make: Callable[[], T]) -> T | None:
        """Return what ``make`` returns; if it raises, keep a sentence about the part, such as ``the table ledger``."""
        try:
            return make()
        except BrokenPipeError:  # the reader of what is printed has left
            raise
        except Exception as error:  # noqa: BLE001  whatever is wrong with one part, the others can be made
            self._parts.setdefault(described(error), {})[part] = None
            return None

    @property
    def sentences(self) -> list[str]:
        """One sentence for each error."""
        texts = [f"{', '.join(parts)} could not be made: {error}." for error, parts in self._parts.items()]
        return [text[:1].upper() + text[1:] for text in texts]


def unknown(what: str, name: str, known: Iterable[str]) -> Refused:
    """Return the error about an unknown name, in the shape that all such errors have."""
    return Refused(f"There is no {what} named {name!r}.{near_names(name, known)}")


def check_known(what: str, names: Iterable[Any], known: Collection[str]) -> None:
    """Refuse the first of these names that is not known."""
    for name in names:
        if name not in known:
            raise unknown(what, str(name), known)


def near_names(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the near names, then all allowed ones."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"{hint} Known: {', '.join(names) or 'none'}."


OTHER_TYPES = frozenset({"nan", "inf", "null", "true", "false"})
"""Words that the command line reads as numbers, as true or false, or as nothing."""


def check_spelling(what: str, name: Any) -> None:
    """Refuse the name of a component, metric or paper that the command line could not read."""
    if not (isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9_]*", name)):
        raise Refused(f"The name of {what} must be small letters, digits and _, a letter first. Got {name!r} instead.")
    if name in OTHER_TYPES:
        raise Refused(f"The name of {what} must not be a word that the command line takes for a value. Got {name!r} instead.")
