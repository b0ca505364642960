"""A dialect: how a file writes its table. It is the same for all columns, and nothing in it depends on a single row."""

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dpbench.base.errors import Refused
from dpbench.files.number_texts import NumberStyle

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
THOUSANDS_NAMES = {"none": "", "comma": ",", "point": ".", "space": " ", "apostrophe": "'", "’": "'"}


@dataclass(frozen=True)
class Dialect:
    """What separates columns and digits, how characters are encoded, and which cells mean a missing value."""

    delimiter: str = ","
    encoding: str = "utf-8"
    header: bool = True
    """Whether the first row names the columns. If not, they are column_1, column_2, …"""
    decimal: str = "."
    thousands: str = ""
    nulls: tuple[str, ...] = ()
    """Further cells that mean a missing value, matched as numbers in columns of numbers."""

    def __post_init__(self) -> None:
        for name, known in (("delimiter", DELIMITER_NAMES), ("thousands", THOUSANDS_NAMES)):
            object.__setattr__(self, name, known.get(getattr(self, name), getattr(self, name)))
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise Refused(
                f"The delimiter must be one character, or {', '.join(sorted({*DELIMITER_NAMES} - {chr(92) + 't'}))}. "
                f"Got {self.delimiter!r} instead."
            )
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise Refused(f"The encoding must be a known one, such as utf-8, latin-1 or utf-16. Got {self.encoding!r}.") from None
        NumberStyle(self.decimal, self.thousands)  # refuses a wrong style

    @property
    def number_style(self) -> NumberStyle:
        return NumberStyle(self.decimal, self.thousands)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Return the dialect with these settings; those that are None keep their defaults."""
        return cls(**{name: value for name, value in settings.items() if value is not None})


USUAL_DIALECT = Dialect()
