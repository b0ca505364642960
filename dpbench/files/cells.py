"""What a cell of a table means: nothing, a number, a truth value or a level. Drafts, loading and prediction all use it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dpbench.base.errors import Refused

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Texts that always stand for a missing value, unless they are a declared level; users add codes of their own."""

TRUTHS = {"true": "1", "false": "0"}
"""What the two truth values, in any case, are as numbers."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_number(text: str) -> bool:
    """Return whether a text is a number with a decimal point."""
    return _NUMBER.fullmatch(text.strip()) is not None


def spelling(value: Any) -> str:
    """Return the one text of a cell, whatever its type: 1, 1.0 and "1.00" are all 1, and True and "TRUE" are true."""
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in TRUTHS:
            return text.lower()
        if re.fullmatch(r"[+-]?\d+", text):
            return str(int(text)) if len(text) < 400 else text
        return _spelled_number(float(text), text) if is_number(text) else text
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, int):
        return str(value)
    try:
        return _spelled_number(float(value), str(value))
    except (TypeError, ValueError):  # a date, for example
        return str(value)


def _spelled_number(number: float, text: str) -> str:
    if number != number or number in (float("inf"), float("-inf")):
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def level_positions(levels: Sequence[str], owner: str) -> Mapping[str, int]:
    """Return the position of each level by its spelling. A truth value is also met by 1 and 0, and they by it."""
    positions: dict[str, int] = {}
    for position, level in enumerate(levels):
        if positions.setdefault(spelling(level), position) != position:
            raise Refused(f"The levels of {owner} must differ. Got {level!r} and {levels[positions[spelling(level)]]!r}.")
    for truth, number in TRUTHS.items():
        for name, alias in ((truth, number), (number, truth)):
            if name in positions and set(positions) <= {*TRUTHS, *TRUTHS.values()}:
                positions.setdefault(alias, positions[name])
    return positions


def null_spellings(codes: Iterable[str]) -> frozenset[str]:
    """Return the spellings of all cells that mean a missing value: the usual texts and these codes."""
    return frozenset(map(spelling, (*NULLS, *codes)))


def null_numbers(codes: Iterable[str]) -> tuple[float, ...]:
    """Return the codes for a missing value that are numbers, because 99.0 and 99.00 are the code 99 as well."""
    return tuple(float(code) for code in codes if is_number(code))
