"""Chunks of a column as numbers, as positions of declared levels, or as texts; bad values are refused with their row number.

Errors name the column and the row, never the value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpbench.base.errors import Refused, refuse_on
from dpbench.data.column_format import ColumnFormat
from dpbench.files.cells import level_positions, null_numbers, null_spellings, spelling
from dpbench.files.dates import is_date_type, part_of, timestamps
from dpbench.files.dialects import USUAL_DIALECT, Dialect
from dpbench.files.number_texts import parse_numbers

MAX_QUOTED = 40
"""Errors quote at most this many characters of a cell."""


@dataclass(frozen=True)
class ColumnChunk:
    """A chunk of one column, with the number of rows before it in the file."""

    label: str
    name: str
    start: int
    array: Any
    dialect: Dialect = USUAL_DIALECT
    signs: set[str] = field(default_factory=set)
    """The currency and percent signs of the column so far, which must be the same in all its rows."""
    names_levels: bool = False
    """Whether errors may quote a cell that is no level: only where the rows are new ones to predict, not a private table."""

    def values(self, column_format: ColumnFormat) -> np.ndarray:
        """Return the values in a format: texts, or floats with NaN where a value is missing and nothing stands for it."""
        nulls = column_format.nulls
        fill: float | None
        if column_format.text:
            return np.asarray(self.texts(nulls).to_numpy(zero_copy_only=False))
        if column_format.levels:
            values = self.level_positions(column_format.levels, nulls, column_format.other)
            fill = level_positions(column_format.levels, f"the column {self.name!r}").get(spelling(column_format.missing))
        else:
            part = column_format.part
            values = self.date_part(part, column_format.date_format, nulls) if part else self.numbers(column_format.whole, nulls)
            fill = float(column_format.missing) if column_format.missing else None
        return values if fill is None else np.where(np.isnan(values), fill, values)

    def numbers(self, whole: bool = False, nulls: Sequence[str] = ()) -> np.ndarray:
        """Return floats, with NaN where a value is missing."""
        import pyarrow
        from pyarrow import compute, types

        array = self.plain_array
        kind = array.type
        if types.is_boolean(kind):
            array = array.cast(pyarrow.uint8())
        elif self.holds_texts:
            texts = self.texts(nulls)
            array, signs = parse_numbers(texts, self.dialect.number_style)
            unreadable = np.asarray(compute.and_(array.is_null(), texts.is_valid()))
            self._check("must hold numbers", "holds something else", unreadable)
            self.signs.update(signs)
            if len(self.signs) > 1:
                raise Refused(
                    f"The column {self.name!r} of {self.label} must have one currency or percent sign, or none, in all rows."
                )
        elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)):
            raise Refused(f"The column {self.name!r} of {self.label} must hold numbers. Got the type {kind} instead.")
        values: np.ndarray = compute.cast(array, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        if codes := null_numbers((*self.dialect.nulls, *nulls)):
            values = np.where(np.isin(values, codes), np.nan, values)
        self._check("must hold finite numbers", "holds an infinite one", np.isinf(values))
        if whole:
            fractions = ~np.isnan(values) & (values != np.round(values))
            self._check("is declared to hold whole numbers", "holds a fraction", fractions)
        return values

    def date_part(self, part: str, date_format: str, nulls: Sequence[str] = ()) -> np.ndarray:
        """Return a part of dates as floats, with NaN where a value is missing."""
        from pyarrow import compute

        dates = self.plain_array if is_date_type(self.plain_array.type) else self.texts(nulls)
        moments = timestamps(dates, date_format)
        rule = f"must hold dates as in {date_format!r}" if date_format else "must hold dates as in 2026-12-31"
        self._check(rule, "holds something else", np.asarray(compute.and_(moments.is_null(), dates.is_valid())))
        return np.array(part_of(moments, part).to_numpy(zero_copy_only=False), dtype=float)

    def level_positions(self, levels: Sequence[str], nulls: Sequence[str] = (), other: str = "") -> np.ndarray:
        """Return the position of each value's level, with NaN where a value is missing.

        Any other value means the level ``other``; without one it is refused.
        """
        import pyarrow

        missing = null_spellings((*self.dialect.nulls, *nulls))
        positions = level_positions(levels, f"the column {self.name!r}")
        rest = positions[spelling(other)] if other else -1.0

        def position(value: Any) -> float:
            name = "" if value is None else spelling(value)
            return positions.get(name, np.nan if name in missing else rest)

        array = self.plain_array
        with refuse_on(pyarrow.ArrowNotImplementedError, self._wrong_type(array.type)):
            encoded = array.dictionary_encode()
        different = np.array([position(value) for value in encoded.dictionary.to_pylist()] + [np.nan])
        indices = np.asarray(encoded.indices.fill_null(len(different) - 1))
        values: np.ndarray = different[indices]
        violation = "holds something else"
        if self.names_levels and (values < 0).any():
            violation = f"holds {spelling(array[int((values < 0).argmax())].as_py())[:MAX_QUOTED]!r}"
        self._check(f"must hold one of its levels {', '.join(map(repr, levels))}", violation, values < 0)
        return values

    def texts(self, nulls: Sequence[str] = ()) -> Any:
        """Return texts without surrounding blanks, null where a value is missing."""
        import pyarrow
        from pyarrow import compute

        array = self.plain_array
        with refuse_on((pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError), self._wrong_type(array.type)):
            array = compute.utf8_trim_whitespace(array.cast(pyarrow.large_string()))
        codes = (*self.dialect.nulls, *nulls)
        missing = compute.is_in(array, value_set=pyarrow.array(sorted({*null_spellings(codes), *codes}), array.type))
        return compute.if_else(missing, pyarrow.scalar(None, array.type), array)

    @property
    def plain_array(self) -> Any:
        """The Arrow array without an encoding by a dictionary, and with one type of text."""
        import pyarrow
        from pyarrow import types

        array = self.array.dictionary_decode() if types.is_dictionary(self.array.type) else self.array
        is_view = getattr(types, "is_string_view", None)  # newer than the oldest supported Arrow
        return array.cast(pyarrow.large_string()) if is_view and is_view(array.type) else array

    @property
    def holds_texts(self) -> bool:
        """Whether the cells are texts, which may be numbers, rather than of another type."""
        from pyarrow import types

        kind = self.plain_array.type
        return bool(types.is_string(kind) or types.is_large_string(kind))

    def _wrong_type(self, kind: Any) -> str:
        return f"The column {self.name!r} of {self.label} must hold numbers or texts. Got the type {kind} instead."

    def _check(self, rule: str, violation: str, wrong: np.ndarray) -> None:
        """Refuse the first wrong value."""
        if wrong.any():
            row = self.start + int(wrong.argmax()) + 1
            raise Refused(f"The column {self.name!r} of {self.label} {rule}. Row {row} {violation}.")
