"""A profile says of what kind a column is, the same for texts and for typed columns, and over several chunks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow
import pytest

from dpbench.files.column_profiles import ColumnProfile, likely_styles
from dpbench.files.dialects import Dialect
from dpbench.files.number_texts import NumberStyle
from dpbench.files.values import ColumnChunk


def profile(*chunks: list[Any], kind: Any = None, **dialect: Any) -> ColumnProfile:
    made = ColumnProfile()
    for chunk in chunks:
        made.add(ColumnChunk("t", "x", 0, pyarrow.array(chunk, kind), Dialect(**dialect)))
    return made


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([["1", "2.5"], ["NA"]], "numbers"),
        ([[1, 2], [None, None]], "numbers"),
        ([["1"], ["x"]], "texts"),
        ([[True, None]], "truths"),
        ([["TRUE"], ["false"]], "truths"),
        ([["2024-01-01"], ["2024-02-01"]], "dates"),
        ([[datetime(2024, 1, 1)]], "dates"),
        ([["NA", ""]], "empty"),
        ([[[1]], [[2]]], "lists"),
    ],
)
def test_the_kind_of_a_column(chunks: list[list[Any]], kind: str) -> None:
    assert profile(*chunks).kind == kind


def test_codes_that_are_spelled_differently_count_as_missing() -> None:
    made = profile(["1", "-200.0", "-200"], ["3", ""], nulls=("-200",))
    assert (made.rows, made.missing, made.low, made.high) == (5, 3, 1, 3)


def test_numbers_that_are_different_in_all_rows_are_a_key_and_may_count_the_rows() -> None:
    assert profile([1, 2], [3, 4]).row_number
    assert profile([7, 5], [6, 4]).key
    assert not profile([7, 5], [6, 4]).row_number
    assert not profile([1, 2], [2, 3]).key
    assert not profile([1.5, 2], [3, 4]).key
    assert not profile([5, 6], [7, 8]).row_number, "years may follow each other as well"


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([-1, 0, 1, 5], ("-1",)),
        ([-9, -8, 0, 1, 5], ("-9", "-8")),
        ([-3, -2, -1, 0, 1], ()),
        ([-200, -1.5, 0.5, 40], ("-200",)),
        ([10, 20, 40, 998, 999], ("998", "999")),
        ([10, 90, 98, 99], ()),
        ([1, 2, 3, 4, 9], ()),
        ([0.5, 0.7, 3], ()),
        ([-5, 1], ()),
    ],
)
def test_numbers_far_from_the_others_may_be_codes(values: list[float], codes: tuple[str, ...]) -> None:
    assert profile(values).codes() == codes


def test_the_styles_in_which_the_most_columns_are_numbers_are_likely() -> None:
    fractions, thousands = profile(["1,5", "2,25"]), profile(["1.234,5", "7"])
    assert likely_styles([fractions, thousands], ";") == [NumberStyle(",", ".")]
    assert likely_styles([profile(["$1", "$2", "x", *["$3"] * 9])], ",") == []
    assert likely_styles([profile(["a", "b"]), profile([1, 2])], ",") == []
    ambiguous = profile(["1,234", "5,678"])
    assert (likely_styles([ambiguous], ",")[0], likely_styles([ambiguous], ";")[0]) == (
        NumberStyle(".", ","),
        NumberStyle(",", ""),
    )


def test_dates_are_described_by_the_largest_part_in_which_they_differ() -> None:
    made = profile(["01.02.2024", "03.02.2024"])
    assert (made.date_format, made.date_part, made.date_range("day")) == ("%d.%m.%Y", "day", (1, 31))
    moments = profile([datetime(2024, 1, 1, 5, 0, 0), datetime(2024, 1, 1, 5, 0, 9)])
    assert moments.date_part == "seconds since 2024-01-01"
    assert moments.date_range(moments.date_part) == (18_000, 18_009)
