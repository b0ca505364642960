"""Counts, lists and numbers have the same form everywhere."""

from __future__ import annotations

import pytest

from dpbench.report.formatting import group_by, listed, number, p_value_text, plural, quantity


@pytest.mark.parametrize(("count", "text"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells"), (1234, "1,234 cells")])
def test_one_alone_has_no_plural(count: int, text: str) -> None:
    assert plural(count, "cell") == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], "nothing"),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "a", "c"], "a, b and c"),
        (list("abcde"), "a, b, c and 2 more"),
    ],
)
def test_names_are_listed_once_and_the_rest_is_counted(names: str, text: str) -> None:
    assert listed(names, most=3) == text


def test_groups_keep_the_order_of_their_first_members() -> None:
    assert list(group_by([3, 1, 5, 2], lambda value: value % 2).items()) == [(1, [3, 1, 5]), (0, [2])]


def test_numbers_have_four_digits_with_their_zeros() -> None:
    assert [number(value) for value in (0.15, 12345.6, None)] == ["0.1500", "1.235e+04", "none"]
    assert number(None, "–") == "–"


@pytest.mark.parametrize(("p", "text"), [(0.00009, "p < 0.0001"), (0.0001, "p = 0.0001"), (0.0478, "p = 0.048")])
def test_a_tiny_p_is_only_bounded(p: float, text: str) -> None:
    assert p_value_text(p) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (26_853.2, "26,850"),
        (3_416.4, "3,416"),
        (0.01234567, "0.01235"),
        (-123_456.0, "-123,500"),
        (2.5e12, "2.500e+12"),
        (None, "none"),
    ],
)
def test_a_quantity_has_four_digits_and_no_exponent_where_people_write_none(value, text) -> None:
    assert quantity(value) == text
