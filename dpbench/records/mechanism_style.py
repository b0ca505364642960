"""The colour and the mark of each mechanism, the same in every figure and in every chart of MLflow.

They depend on the mechanism's name alone, so that no figure needs a list of mechanisms and no record has to carry them.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

# The seven of Okabe and Ito 2008 that are easy to see on paper, and three dark ones of Tol 2021
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#332288", "#882255", "#661100")
"""Colours that readers with deuteranopia or protanopia tell apart too."""
MARKS = ("o", "s", "D", "^", "P", "X", "<", ">", "p", "*", "h")
"""Shapes in matplotlib's words; all of them can be half filled. A triangle that points down marks the lower end of an axis."""

# With these two, no two mechanisms that come with dpbench share both: found by search, checked by a test.
_COLOUR_SALT = "colour 55389654"
_MARK_SALT = "mark 4105"


@dataclass(frozen=True)
class MechanismStyle:
    """What a mechanism looks like: its colour on a screen, and its mark, which also tells it apart in grey."""

    colour: str
    mark: str


@cache
def mechanism_style(mechanism: str) -> MechanismStyle:
    """Return the style of a mechanism, given its name. Mechanisms of plugins may share a colour or, rarely, both."""
    return MechanismStyle(pick(mechanism, COLOURS, _COLOUR_SALT), pick(mechanism, MARKS, _MARK_SALT))


def pick(name: str, choices: tuple[T, ...], salt: str) -> T:
    """Return one of the choices: always the same for a name, on every machine."""
    digest = blake2b(f"{salt} {name}".encode(), digest_size=8).digest()
    return choices[int.from_bytes(digest, "big") % len(choices)]
