"""A chunk of a column as numbers, as positions of declared levels, or as texts; what does not fit is refused by its row.

Errors name the column and the row, never the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.base.errors import Refused

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Texts that stand for a missing value when nothing is said; the empty one always does."""


@dataclass(frozen=True)
class ColumnFormat:
    """How a column is read: as numbers, as the positions of its declared levels, or as texts."""

    levels: tuple[str, ...] = ()
    text: bool = False
    whole: bool = False


NUMBER, TEXT = ColumnFormat(), ColumnFormat(text=True)


@dataclass(frozen=True)
class ColumnChunk:
    """A chunk of one column, and where it stands in the file."""

    label: str
    name: str
    start: int
    array: Any
    nulls: Iterable[str] = NULLS

    def as_wanted(self, how: ColumnFormat) -> np.ndarray:
        if how.text:
            return np.asarray(self.texts().to_numpy(zero_copy_only=False))
        return self.codes(how.levels) if how.levels else self.numbers(how.whole)

    def numbers(self, whole: bool = False) -> np.ndarray:
        """Floats, NaN where a value is missing."""
        import pyarrow
        from pyarrow import compute, types

        array = self.array.dictionary_decode() if types.is_dictionary(self.array.type) else self.array
        kind = array.type
        if types.is_boolean(kind):
            array = array.cast(pyarrow.uint8())
        elif types.is_string(kind) or types.is_large_string(kind):
            array = self.texts()
            try:
                array = array.cast(pyarrow.float64())
            except pyarrow.ArrowInvalid:  # its message quotes the value
                raise self._refusal("must hold numbers", "holds something else", _first_unread(array)) from None
        elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)):
            raise Refused(f"The column {self.name!r} of {self.label} must hold numbers. Got the type {kind} instead.")
        values = np.asarray(compute.cast(array, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
        if np.isinf(values).any():
            raise self._refusal("must hold finite numbers", "holds an infinite one", int(np.isinf(values).argmax()))
        broken = whole & ~np.isnan(values) & (values != np.round(values))
        if np.any(broken):
            raise self._refusal("is declared to hold whole numbers", "holds a fraction", int(np.argmax(broken)))
        return values

    def codes(self, levels: Sequence[str]) -> np.ndarray:
        """The position of each value's level, NaN where it is missing; another value is refused."""
        import pyarrow
        from pyarrow import compute, types

        if all(map(is_number, levels)) and not types.is_boolean(self.array.type):
            values = self.numbers()
            known = np.array([float(level) for level in levels])
            order = np.argsort(known)
            at = np.clip(np.searchsorted(known[order], values), 0, len(known) - 1)
            codes = np.where(known[order][at] == values, order[at].astype(float), -1.0)
            codes[np.isnan(values)] = np.nan
        else:
            texts, names = self.texts(), list(levels)
            if {name.lower() for name in names} <= {"true", "false"}:
                texts, names = compute.utf8_lower(texts), [name.lower() for name in names]
            found = compute.fill_null(compute.index_in(texts, value_set=pyarrow.array(names, texts.type)), -1)
            codes = np.where(np.asarray(texts.is_null()), np.nan, np.asarray(found).astype(float))
        if np.any(codes < 0):
            shown = ", ".join(map(repr, levels))
            raise self._refusal(f"must hold one of its levels {shown}", "holds something else", int(np.argmax(codes < 0)))
        return codes

    def texts(self) -> Any:
        """Texts without the blanks around them, null where a value is missing."""
        import pyarrow
        from pyarrow import compute

        array = self.array
        try:
            array = compute.utf8_trim_whitespace(array.cast(pyarrow.large_string()))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError):
            raise Refused(
                f"The column {self.name!r} of {self.label} must hold numbers or texts. Got the type {array.type} instead."
            ) from None
        missing = compute.is_in(array, value_set=pyarrow.array(sorted({"", *self.nulls}), array.type))
        return compute.if_else(missing, pyarrow.scalar(None, array.type), array)

    def _refusal(self, must: str, but: str, row: int) -> Refused:
        return Refused(f"The column {self.name!r} of {self.label} {must}. Row {self.start + row + 1} {but}.")


def _first_unread(texts: Any) -> int:
    """The position of the first text that is no number, by halving."""
    import pyarrow

    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            texts[low:middle].cast(pyarrow.float64())
            low = middle
        except pyarrow.ArrowInvalid:
            high = middle
    return low


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
