"""A table refuses what it cannot hold, in one sentence that shows no value of a row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.table import Column, Table

SECRET = 731.8125
Y = Column("y", 0, 1000)
AB = (Column("a", 0, 1000), Column("b", 0, 1000))


def filled(value: float = SECRET, shape: tuple[int, ...] = (3, 2)) -> np.ndarray:
    return np.full(shape, value)


@pytest.mark.parametrize(
    ("features", "response", "sentence"),
    [
        (np.array([[SECRET, 1], [np.nan, SECRET], [0, 0]]), filled(shape=(3,)), "1 missing or infinite"),
        (filled(), np.array([SECRET, np.inf, -np.inf]), "2 missing or infinite"),
        (filled().astype(str), filled(shape=(3,)), "must be numbers"),
        (filled().astype(object), filled(shape=(3,)), "must be numbers"),
        (filled() + 0j, filled(shape=(3,)), "must be numbers"),
        (filled(), filled(shape=(3,)).astype(str), "must be numbers"),
        (filled(shape=(0, 2)), filled(shape=(0,)), "at least 2 rows"),
        (filled(shape=(1, 2)), filled(shape=(1,)), "at least 2 rows"),
        (filled(shape=(3, 3)), filled(shape=(3,)), "2 feature columns"),
        (filled(shape=(4, 2)), filled(shape=(3,)), "equal length"),
        (filled(shape=(3, 2)), filled(shape=(3, 1)), "equal length"),
        (filled(shape=(3,)), filled(shape=(3,)), "2 feature columns"),
    ],
)
def test_nonsense_is_refused_without_showing_a_row(features, response, sentence) -> None:
    with pytest.raises(Refused, match=sentence) as caught:
        Table(AB, Y, features, response)
    assert "731" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_table_without_features_is_refused() -> None:
    with pytest.raises(Refused, match="1 feature"):
        Table((), Y, np.empty((3, 0)), np.zeros(3))


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (math.nan, 1), (0, math.nan), (-math.inf, 0), (0, math.inf)])
def test_bounds_are_two_finite_numbers_in_order(low, high) -> None:
    with pytest.raises(Refused, match="two finite numbers, the lower one first"):
        Column("a", low, high)


def test_a_one_hot_column_has_the_bounds_0_and_1() -> None:
    with pytest.raises(Refused, match="one-hot"):
        Column("a", 0, 2, group="g")
    assert Column("a", 0, 1, group="g").attribute == "g"


def test_names_differ() -> None:
    for columns in ((AB[0], AB[0]), (AB[0], Column("y", 0, 1))):
        with pytest.raises(Refused, match="names must differ"):
            Table(columns, Y, filled(), filled(shape=(3,)))


def test_attributes_are_selected_whole_and_unknown_ones_are_refused_with_near_names() -> None:
    columns = (Column("a", 0, 1), Column("g_1", 0, 1, group="gender"), Column("g_2", 0, 1, group="gender"), Column("b", 0, 1))
    table = Table(
        columns, Y, np.array([[0.5, 1, 0, 0.1], [0.2, 0, 1, 0.3], [0.4, 0, 0, 0.6]]), np.zeros(3), sensitive=("gender",)
    )
    assert table.attributes == ("a", "gender", "b")
    chosen = table.select(["b", "gender"])
    assert [column.name for column in chosen.columns] == ["g_1", "g_2", "b"]
    np.testing.assert_array_equal(chosen.features, table.features[:, 1:])
    assert chosen.sensitive == ("gender",)
    assert table.select(["a"]).sensitive == ()
    with pytest.raises(Refused, match="Did you mean gender"):
        table.select(["gendr"])
    with pytest.raises(Refused, match="attribute"):
        Table(columns, Y, table.features, table.response, sensitive=("g_1",))


def test_known_coefficients_stay_while_the_model_is_the_same() -> None:
    table = Table(AB, Y, filled(), np.zeros(3), coefficients=(1.0, 2.0, 3.0))
    assert table.take(np.array([0, 2])).coefficients == (1, 2, 3)
    assert table.take_units(np.array([0, 2])).coefficients == (1, 2, 3)
    assert table.select(("b", "a")).coefficients == (1, 2, 3)
    assert table.select(("b",)).coefficients is None
    with pytest.raises(Refused, match=r"2 columns has 3 coefficients\. Got 2 instead"):
        Table(AB, Y, filled(), np.zeros(3), coefficients=(1.0, 2.0))
