"""A check is one law about a component: what must hold, the function that tries it, and what to do where it does not hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Case = TypeVar("Case")


class Failure(Exception):
    """The law does not hold: how it was broken, in a sentence; and what to do, if it is not the advice of the check."""

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class NotApplicable(Exception):
    """The law says nothing about this component: why, as the end of a sentence."""


@dataclass(frozen=True)
class LawCheck:
    """A law that components of one kind must keep."""

    name: str
    law: str
    """What must hold, in a sentence."""
    advice: str
    """What an author does where it does not hold, in a sentence or two."""
    run: Callable[[Any], None]
    """Try the law on a case; raise :class:`Failure` or :class:`NotApplicable`."""
    needed: bool = False
    """Whether the checks that follow make sense only if this one passes."""
    after: tuple[str, ...] = ()
    """The names of checks without which this one would report the same fault again: it runs only if none of them failed."""


def law(
    text: str, advice: str, needed: bool = False, after: Sequence[LawCheck] = ()
) -> Callable[[Callable[[Case], None]], LawCheck]:
    """Turn a function into the check of a law; the function's name, with spaces, is the check's."""
    names = tuple(check.name for check in after)
    return lambda function: LawCheck(function.__name__.replace("_", " "), text, advice, function, needed, names)
