"""What the rows say about each column of a file: its kind, range and levels. This is as private as the rows."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.files.cells import TRUTHS
from dpbench.files.dates import FORMATS, is_date_type, part_of, timestamps
from dpbench.files.number_texts import PLAIN, STYLES, NumberStyle, fits, without_signs
from dpbench.files.table_files import File
from dpbench.files.values import ColumnChunk

MAX_DRAFTED_LEVELS = 50
"""A column with more different texts than this is not drafted as categorical: it may hold names or number plates."""
EXTREMES = 5
"""The number of the smallest and largest different numbers that are looked at for codes of missing values."""
TRIED_TEXTS = 1_000
"""The number of cells on which all formats of dates are tried; those that fit are tried on the others."""
MIN_LIKE_SHARE = 0.8
"""A column looks like numbers or dates if this share of its cells are."""

MAX_SHOWN_CELLS = 4
NEGATIVE_CODES = (-1, -7, -8, -9, -97, -98, -99, -997, -998, -999, -9999)
"""Numbers that surveys give to answers that are missing."""

Kind = Literal["empty", "lists", "truths", "numbers", "dates", "texts"]


@dataclass
class ColumnProfile:
    """The kind, range and levels of a column of a file: read from the rows, so not public."""

    rows: int = 0
    missing: int = 0
    numeric: bool = True
    whole: bool = True
    low: float = math.inf
    high: float = -math.inf
    different: bool = True
    """Whether no number occurs twice."""
    increasing: bool = True
    extremes: np.ndarray = field(default_factory=lambda: np.empty(0))
    """The smallest and the largest different numbers."""
    texts: set[str] = field(default_factory=set)
    unreadable: bool = False
    date_type: bool = False
    signs: set[str] = field(default_factory=set)
    style_counts: dict[NumberStyle, int] | None = None
    """How many cells are numbers in each style that fitted the first ones; None for typed columns."""
    date_counts: dict[str, int] | None = None
    """How many cells are dates in each format that fitted the first ones."""
    moments: list[Any] = field(default_factory=list)
    """The first and the last moment of each chunk of dates."""
    others: set[str] = field(default_factory=set)
    """Some of the cells that are no numbers, where most are."""
    _seen: list[np.ndarray] = field(default_factory=list)

    def add(self, chunk: ColumnChunk) -> None:
        """Take a further chunk of the column into account."""
        array = chunk.plain_array
        self.rows += len(array)
        self.date_type = is_date_type(array.type)
        try:
            texts = chunk.texts()
        except Refused:
            self.unreadable = True
            return
        self.missing += texts.null_count
        if len(self.texts) <= MAX_DRAFTED_LEVELS:
            self.texts.update(texts.drop_null().unique().slice(0, MAX_DRAFTED_LEVELS + 1).to_pylist())
        if self.date_type:
            self._add_dates(array)
        try:
            values = chunk.numbers() if self.numeric else None
        except Refused:
            values, self.numeric = None, False
        if values is not None:
            self.signs |= chunk.signs
            self.missing += int(np.isnan(values).sum()) - texts.null_count  # codes that are spelled differently
            self._add_numbers(values[~np.isnan(values)])
        elif chunk.holds_texts:
            self._add_styles(texts.drop_null(), chunk.dialect.number_style)
            self._add_dates(texts.drop_null())

    def _add_numbers(self, values: np.ndarray) -> None:
        if not len(values):
            return
        self.whole &= bool((values == np.round(values)).all())
        self.increasing &= bool((np.diff(values) > 0).all() and values[0] > self.high)
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        seen = np.unique(values)
        self.different &= len(seen) == len(values) and self.whole
        if self.different:
            self._seen.append(seen)
        ends = np.unique(np.concatenate([self.extremes, seen[:EXTREMES], seen[-EXTREMES:]]))
        self.extremes = np.unique(np.concatenate([ends[:EXTREMES], ends[-EXTREMES:]]))

    def _add_styles(self, texts: Any, style: NumberStyle) -> None:
        """Count the numbers of each style that fitted most of the first cells."""
        from pyarrow import compute

        first = self.style_counts is None
        counts = dict.fromkeys((style, *STYLES), 0) if self.style_counts is None else self.style_counts
        bare = without_signs(texts) if counts else texts
        for tried in list(counts):
            readable = fits(bare, tried)
            count = int(compute.sum(readable).as_py() or 0)
            if first and count < MIN_LIKE_SHARE * len(texts):
                del counts[tried]
                continue
            counts[tried] += count
            if count < len(texts) and len(self.others) < MAX_SHOWN_CELLS:
                self.others |= set(texts.filter(compute.invert(readable)).unique().slice(0, MAX_SHOWN_CELLS).to_pylist())
        self.style_counts = counts if len(texts) else self.style_counts

    def _add_dates(self, cells: Any) -> None:
        """Count the dates of each format that fitted most of the first cells, and note the first and last moment."""
        from pyarrow import compute

        if self.date_counts is None:
            first = cells.drop_null()[:TRIED_TEXTS]
            if not len(first):
                return
            tried = [""] if self.date_type else FORMATS
            needed = MIN_LIKE_SHARE * len(first)
            self.date_counts = {form: 0 for form in tried if len(first) - timestamps(first, form).null_count >= needed}
        for form in self.date_counts:
            moments = timestamps(cells, form)
            self.date_counts[form] += len(moments) - moments.null_count
            if moments.null_count < len(moments):
                ends = compute.min_max(moments)
                self.moments += [(form, ends["min"].as_py()), (form, ends["max"].as_py())]

    @property
    def values(self) -> int:
        """The number of cells that hold a value."""
        return self.rows - self.missing

    @property
    def kind(self) -> Kind:
        """What the cells of the column are."""
        if self.unreadable:
            return "lists"
        if not self.values:
            return "empty"
        if self.texts and {text.lower() for text in self.texts} <= set(TRUTHS):
            return "truths"
        if self.date_type or (self.date_counts and max(self.date_counts.values()) == self.values):
            return "dates"
        return "numbers" if self.numeric else "texts"

    @property
    def date_format(self) -> str:
        """The format of dates that fits most cells."""
        counts = self.date_counts or {"": 0}
        return max(counts, key=lambda form: counts[form])

    @property
    def date_formats(self) -> list[str]:
        """The formats of dates that fit all cells."""
        return [form for form, count in (self.date_counts or {}).items() if count == self.values]

    @property
    def constant(self) -> bool:
        return self.low == self.high if self.kind == "numbers" else len(self.texts) == 1

    @property
    def categorical(self) -> bool:
        return self.kind == "truths" or (self.kind == "texts" and len(self.texts) <= MAX_DRAFTED_LEVELS)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that occur."""
        return ("false", "true") if self.kind == "truths" else tuple(sorted(self.texts))

    @property
    def key(self) -> bool:
        """Whether the numbers are whole and different in all rows, as a key or a row number is."""
        if not (self.kind == "numbers" and self.whole and self.different and self.values == self.rows):
            return False
        return len(np.unique(np.concatenate(self._seen))) == self.rows

    @property
    def row_number(self) -> bool:
        """Whether the numbers count the rows, from 0 or 1."""
        return self.key and self.increasing and self.low in (0, 1) and self.high - self.low == self.rows - 1

    @property
    def looks_like(self) -> str:
        """What most cells of a column of texts are: numbers, dates, or nothing."""
        share = MIN_LIKE_SHARE * self.values
        if self.style_counts and max(self.style_counts.values()) >= share:
            return "numbers"
        return "dates" if self.date_counts and max(self.date_counts.values()) >= share else ""

    @property
    def date_part(self) -> str:
        """The largest part in which the dates differ."""
        for part in ("year", "month", "day", "hour"):
            low, high = self._part_ends(part)
            if low < high:
                return part
        return f"seconds since {self._ends()[0].date()}"

    def date_range(self, part: str) -> tuple[float, float]:
        """Return the range of a part: of years and seconds that which occurs, of the others all there are."""
        known = {"month": (1.0, 12.0), "day": (1.0, 31.0), "weekday": (1.0, 7.0), "hour": (0.0, 23.0)}
        return known.get(part) or self._part_ends(part)

    def _part_ends(self, part: str) -> tuple[float, float]:
        import pyarrow

        numbers = part_of(pyarrow.array(self._ends(), pyarrow.timestamp("us")), part).to_pylist()
        return min(numbers), max(numbers)

    def _ends(self) -> list[Any]:
        return sorted(moment for form, moment in self.moments if form == self.date_format)

    def codes(self) -> tuple[str, ...]:
        """Return numbers at the ends of the range that may be codes for a missing value: -1, -200, 99, 9998, …"""
        numbers = list(self.extremes) if self.kind == "numbers" else []
        nines = [number for number in numbers if re.fullmatch(r"9+[6-9]", f"{number:.15g}")]
        rest = [number for number in numbers if number not in nines]
        found: list[float] = []
        if nines and len(rest) > 1 and nines[0] - rest[-1] > rest[-1] - rest[0]:
            numbers, found = rest, nines
        below = [number for number in numbers if number < 0]
        rest = numbers[len(below) :]
        if below and len(rest) > 1 and all(number in NEGATIVE_CODES for number in below):
            found = [*below, *found]
        elif len(numbers) > 2 and numbers[0] < 0 and numbers[0].is_integer():
            found = [*([numbers[0]] if numbers[1] - numbers[0] > numbers[-1] - numbers[1] else []), *found]
        return tuple(f"{number:.0f}" for number in found)


def profile_columns(file: File, names: Sequence[str]) -> dict[str, ColumnProfile]:
    """Read the kinds, ranges and levels of columns, in one pass over the rows."""
    profiles = {name: ColumnProfile() for name in names}
    for chunks in file.chunks(names):
        for name, profile in profiles.items():
            profile.add(chunks[name])
    return profiles


def likely_styles(profiles: Iterable[ColumnProfile], delimiter: str) -> list[NumberStyle]:
    """Return the styles in which the most columns of texts are numbers, the likeliest first; none if no column is."""
    counts = dict.fromkeys(STYLES, 0)
    for profile in profiles:
        for style, count in (profile.style_counts or {}).items():
            counts[style] += count == profile.values
    best = max(counts.values())
    # 1,234 is more likely to be a thousand where commas separate columns as well, and a fraction elsewhere
    order = sorted(STYLES, key=lambda style: (style != PLAIN, (style.decimal == ",") == (delimiter == ",")))
    return [style for style in order if counts[style] == best > 0]
