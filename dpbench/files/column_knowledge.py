"""What a bounds file says of a column beyond its bounds: public knowledge from which plausible tables are drawn.

A column of numbers may have a ``typical`` value (about its mean) and a ``spread`` (about its standard deviation), both in its
own unit; a column with levels may have ``shares``, one per level. A rough digit is enough. Nothing that is fitted uses them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.base.errors import Refused, refuse_on

NUMBER_KEYS = ("typical", "spread")
LEVEL_KEYS = ("shares",)
SHARES_TOLERANCE = 0.25
"""How far from 1 the sum of shares may be: each is rounded to one digit."""


@dataclass(frozen=True)
class ColumnKnowledge:
    """What is publicly known of a column's values."""

    typical: float | None = None
    spread: float | None = None
    shares: tuple[float, ...] = ()
    """Of each level; empty if unknown."""


NOTHING_KNOWN = ColumnKnowledge()


def parse_knowledge(fields: Mapping[str, Any], bounds: tuple[float, float], column: str) -> ColumnKnowledge:
    """Return what is known of a column of numbers; ``column`` names it in errors."""
    typical, spread = (_number(fields[key], key, column) if key in fields else None for key in NUMBER_KEYS)
    low, high = bounds
    if typical is not None and not low <= typical <= high:
        raise Refused(f"The key 'typical' of {column} must lie within its bounds. Got {typical:g} instead.")
    if spread is not None and not 0 < spread <= high - low:
        raise Refused(f"The key 'spread' of {column} must be above 0 and at most high - low. Got {spread:g} instead.")
    return ColumnKnowledge(typical, spread)


def parse_shares(value: Any, levels: int, column: str) -> ColumnKnowledge:
    """Return what is known of a column with this many levels."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != levels:
        raise Refused(f"The shares of {column} must be a list of {levels} numbers, one for each level. Got {value!r} instead.")
    shares = tuple(_number(share, "shares", column) for share in value)
    total = math.fsum(shares)
    if min(shares) < 0 or abs(total - 1) > SHARES_TOLERANCE:
        raise Refused(f"The shares of {column} must be positive or 0, and add up to about 1. Their sum is {total:g}.")
    return ColumnKnowledge(shares=tuple(share / total for share in shares))


def _number(value: Any, key: str, column: str) -> float:
    sentence = f"The key {key!r} of {column} must be a finite number. Got {value!r} instead."
    with refuse_on((TypeError, ValueError), sentence):
        number = float(value)
    if not math.isfinite(number):
        raise Refused(sentence)
    return number
