"""Counts, lists and numbers as text: the formats that all parts of a report share."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

MIN_EXPONENT_FREE, MAX_EXPONENT_FREE = 1e3, 1e9
"""Between these, quantities have no exponent and end in zeros after four digits."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def plural(count: int, noun: str) -> str:
    """Return ``1 cell`` or ``3 cells``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def listed(names: Iterable[str], word: str = "and", most: int = 12) -> str:
    """Return ``a, b and c``, each name once; names beyond ``most`` are counted."""
    unique = list(dict.fromkeys(names))
    if len(unique) > most:
        unique = [*unique[:most], f"{len(unique) - most} more"]
    return f" {word} ".join(filter(None, [", ".join(unique[:-1]), *unique[-1:]])) or "nothing"


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items of each key, in the order of their first appearance."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def number(value: float | None, missing: str = "none") -> str:
    """Return four digits. Zeros at the end stay, so that the numbers of a column line up."""
    return missing if value is None else f"{value:#.4g}"


def quantity(value: float | None, missing: str = "none") -> str:
    """Return four digits of a number in a unit of everyday life: ``26,850`` rather than ``2.685e+04``."""
    if value is None or not MIN_EXPONENT_FREE <= abs(value) < MAX_EXPONENT_FREE:
        return number(value, missing)
    return f"{float(f'{value:.4g}'):,.0f}"


def p_value_text(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
