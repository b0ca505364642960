"""How the cells of a column are read: as numbers, as levels, as a part of a date, or as texts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnFormat:
    """What the cells of a column mean. It is public: the user declared it, and a released model repeats it."""

    levels: tuple[str, ...] = ()
    """The declared levels; without any, the cells are numbers."""
    text: bool = False
    whole: bool = False
    nulls: tuple[str, ...] = ()
    """Further cells that mean a missing value in this column."""
    missing: str = ""
    """The number or level that stands for a missing value; empty: none does."""
    part: str = ""
    """The part of a date that is the number: year, month, hour, …"""
    date_format: str = ""
    """How dates are written, as in %d.%m.%Y; empty: as in ISO 8601."""
    other: str = ""
    """The level that every cell means which is none of the levels; empty: such a cell is refused."""


NUMBER, TEXT = ColumnFormat(), ColumnFormat(text=True)
