"""Chunks of a column as numbers, as positions of declared levels, or as texts; bad values are refused by their row.

Errors name the column and the row, never the value.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.base.errors import Refused, refuse_on

NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Texts that stand for a missing value by default; the empty text always does."""


@dataclass(frozen=True)
class ColumnFormat:
    """How a column is read: as numbers, as the positions of its declared levels, or as texts."""

    levels: tuple[str, ...] = ()
    text: bool = False
    whole: bool = False
    nulls: tuple[str, ...] = ()
    """Further texts that stand for a missing value, in this column only."""


NUMBER, TEXT = ColumnFormat(), ColumnFormat(text=True)


@dataclass(frozen=True)
class ColumnChunk:
    """A chunk of one column, with the number of rows before it in the file."""

    label: str
    name: str
    start: int
    array: Any
    nulls: Iterable[str] = NULLS

    def values(self, column_format: ColumnFormat) -> np.ndarray:
        """Return the values in a format."""
        if column_format.text:
            return np.asarray(self.texts().to_numpy(zero_copy_only=False))
        return self.level_positions(column_format.levels) if column_format.levels else self.numbers(column_format.whole)

    def numbers(self, whole: bool = False) -> np.ndarray:
        """Return floats, with NaN where a value is missing."""
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
                raise self._refusal("must hold numbers", "holds something else", _first_unreadable(array)) from None
        elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)):
            raise Refused(f"The column {self.name!r} of {self.label} must hold numbers. Got the type {kind} instead.")
        values = np.asarray(compute.cast(array, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
        self._check("must hold finite numbers", "holds an infinite one", np.isinf(values))
        fractions = whole & ~np.isnan(values) & (values != np.round(values))
        self._check("is declared to hold whole numbers", "holds a fraction", fractions)
        return values

    def level_positions(self, levels: Sequence[str]) -> np.ndarray:
        """Return the position of each value's level, with NaN where a value is missing; other values are refused."""
        import pyarrow
        from pyarrow import compute, types

        if all(map(is_number, levels)) and not types.is_boolean(self.array.type):
            array: Any = pyarrow.array(self.numbers() + 0.0, from_pandas=True)  # + 0.0, here and below, turns -0.0 into 0.0
            names: list[Any] = [float(level) + 0.0 for level in levels]
        else:
            array, names = self.texts(), list(levels)
            if {name.lower() for name in names} <= {"true", "false"}:
                array, names = compute.utf8_lower(array), [name.lower() for name in names]
        matches = compute.fill_null(compute.index_in(array, value_set=pyarrow.array(names, array.type)), -1)
        positions = np.where(np.asarray(array.is_null()), np.nan, np.asarray(matches).astype(float))
        self._check(f"must hold one of its levels {', '.join(map(repr, levels))}", "holds something else", positions < 0)
        return positions

    def texts(self) -> Any:
        """Return texts without surrounding blanks, null where a value is missing."""
        import pyarrow
        from pyarrow import compute

        sentence = f"The column {self.name!r} of {self.label} must hold numbers or texts. Got the type {self.array.type} instead."
        with refuse_on((pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError), sentence):
            array = compute.utf8_trim_whitespace(self.array.cast(pyarrow.large_string()))
        missing = compute.is_in(array, value_set=pyarrow.array(sorted({"", *self.nulls}), array.type))
        return compute.if_else(missing, pyarrow.scalar(None, array.type), array)

    def _check(self, rule: str, violation: str, wrong: np.ndarray) -> None:
        """Refuse the first wrong value."""
        if wrong.any():
            raise self._refusal(rule, violation, int(wrong.argmax()))

    def _refusal(self, rule: str, violation: str, row: int) -> Refused:
        return Refused(f"The column {self.name!r} of {self.label} {rule}. Row {self.start + row + 1} {violation}.")


def is_number(text: str) -> bool:
    """Return whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_unreadable(texts: Any) -> int:
    """Return the position of the first text that is not a number, by bisection."""
    import pyarrow

    def occurs_until(position: int) -> bool:
        try:
            texts[: position + 1].cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            return True
        return False

    return bisect_left(range(len(texts)), True, key=occurs_until)
