"""Values of a column become numbers, level positions or texts; a wrong one is refused by its row and never shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

from dpbench.base.errors import Refused
from dpbench.data.column_format import NUMBER, TEXT, ColumnFormat
from dpbench.files.dialects import Dialect
from dpbench.files.values import ColumnChunk

SECRET = "Zq7Secret"


def chunk(values: list[Any], start: int = 0, **options: Any) -> ColumnChunk:
    return ColumnChunk("people.csv", "age", start, pyarrow.array(values), **options)


@pytest.mark.parametrize(
    "values", [["1", " 2.5 ", "NA", "-3e2"], ["1", "2.5", None, "-300"], [1.0, 2.5, None, -300.0], ["1.0", "2.50", "", "-300"]]
)
def test_texts_and_numbers_are_read_as_the_same_numbers(values: list[Any]) -> None:
    np.testing.assert_array_equal(chunk(values).values(NUMBER), [1, 2.5, np.nan, -300])


def test_truth_values_and_dictionaries_are_numbers_too() -> None:
    np.testing.assert_array_equal(chunk([True, False, None]).numbers(), [1, 0, np.nan])
    encoded = ColumnChunk("people.parquet", "age", 0, pyarrow.array(["3", "1", "3"]).dictionary_encode())
    np.testing.assert_array_equal(encoded.numbers(), [3, 1, 3])


@pytest.mark.parametrize(
    "values", [["1", "?", "-200", "-200.0"], ["1", "NA", "-2e2", ""], [1, None, -200, -200], [1.0, np.nan, -200.0, None]]
)
def test_codes_for_a_missing_value_are_matched_by_value_in_numbers_of_any_type(values: list[Any]) -> None:
    coded = chunk(values, dialect=Dialect(nulls=("?", "-200")))
    np.testing.assert_array_equal(coded.numbers(), [1, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(chunk(values).numbers(nulls=("?", "-200.00")), [1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("values", [["a", "9", "None"], ["a", "9.0", "None"]])
def test_a_declared_level_is_a_level_even_if_its_text_could_mean_a_missing_value(values: list[str]) -> None:
    column_format = ColumnFormat(("a", "None"), nulls=("9",))
    np.testing.assert_array_equal(chunk(values).values(column_format), [0, np.nan, 1])


@pytest.mark.parametrize("values", [["1", "2.0", "x", "NA", "-1"], [1, 2, 7, None, -1], [1.0, 2.0, 7.5, np.nan, -1.0]])
def test_undeclared_levels_become_other_and_missing_ones_stay_missing(values: list[Any]) -> None:
    gathered = chunk(values).values(ColumnFormat(("1", "other", "2"), nulls=("-1",), other="other"))
    np.testing.assert_array_equal(gathered, [0, 2, 1, np.nan, np.nan])
    with pytest.raises(Refused, match="must hold one of its levels"):
        chunk(values).values(ColumnFormat(("1", "other", "2"), nulls=("-1",)))


@pytest.mark.parametrize(
    ("column_format", "expected"),
    [(ColumnFormat(missing="7"), [1, 7]), (ColumnFormat(("1", "unknown"), missing="unknown"), [0, 1])],
)
def test_a_declared_value_stands_for_a_missing_one(column_format: ColumnFormat, expected: list[float]) -> None:
    np.testing.assert_array_equal(chunk(["1", ""]).values(column_format), expected)


def test_numbers_with_different_signs_are_not_mixed() -> None:
    np.testing.assert_array_equal(chunk(["5 %", "7%"]).numbers(), [5, 7])
    with pytest.raises(Refused, match="must have one currency or percent sign, or none"):
        chunk(["5 %", "0.07"]).numbers()


@pytest.mark.parametrize("at", [0, 1, 6, 11])
def test_the_first_text_that_is_no_number_is_named_by_its_row(at: int) -> None:
    values = [*map(str, range(12)), "x"]
    values[at] = SECRET
    with pytest.raises(Refused) as refusal:
        chunk(values, start=100).numbers()
    assert str(refusal.value) == f"The column 'age' of people.csv must hold numbers. Row {101 + at} holds something else."


@pytest.mark.parametrize(
    ("values", "column_format", "sentence"),
    [
        (["1", "inf"], NUMBER, "must hold finite numbers. Row 2 holds an infinite one."),
        (["1", "2.5"], ColumnFormat(whole=True), "is declared to hold whole numbers. Row 2 holds a fraction."),
        (["a", "c"], ColumnFormat(("a", "b")), "must hold one of its levels 'a', 'b'. Row 2 holds something else."),
        (["1", "3"], ColumnFormat(("1", "2")), "must hold one of its levels '1', '2'. Row 2 holds something else."),
        ([[1], [2]], NUMBER, "must hold numbers. Got the type list<item: int64> instead."),
        ([[1], [2]], TEXT, "must hold numbers or texts. Got the type list<item: int64> instead."),
    ],
)
def test_a_wrong_value_is_refused(values: list[Any], column_format: ColumnFormat, sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        chunk(values).values(column_format)
    assert str(refusal.value) == f"The column 'age' of people.csv {sentence}"


@pytest.mark.parametrize(
    ("values", "levels", "positions"),
    [
        (["b", "a", None, " b"], ("b", "a"), [0, 1, np.nan, 0]),
        (["2.0", "10", "NA"], ("10", "2"), [1, 0, np.nan]),
        ([2.0, 10.0, None], ("10", "2"), [1, 0, np.nan]),
        ([True, False, None], ("false", "true"), [1, 0, np.nan]),
        (["True", "FALSE"], ("false", "true"), [1, 0]),
        ([1.0, 0.0], ("false", "true"), [1, 0]),
        ([True, False], ("0", "1"), [1, 0]),
    ],
)
def test_levels_are_met_as_texts_as_numbers_and_as_truth_values(
    values: list[Any], levels: tuple[str, ...], positions: list[float]
) -> None:
    np.testing.assert_array_equal(chunk(values).values(ColumnFormat(levels)), positions)
