"""Unknown attributes: the combinations of their values, and how often each occurs with each value that is guessed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Column, Table
from dpbench.plugins.attacks._attribute import Attribute
from dpbench.plugins.attacks._unknown import Unknown


@pytest.fixture
def rows() -> Rows:
    """Married and single exclude each other; the third column has three values."""
    columns = (
        Column("married", 0, 1, kind="binary"),
        Column("single", 0, 1, kind="binary"),
        Column("rooms", 0, 2, kind="integer"),
    )
    features = np.array([[1, 0, 0], [1, 0, 2], [0, 1, 0], [0, 0, 0], [0, 1, 2]], dtype=float)
    return scale(Table(columns, Column("y", 0, 1), features, np.linspace(0, 1, 5)), "box", False, "real")


@pytest.fixture
def unknown(rows: Rows) -> Callable[..., Unknown]:
    return lambda *names: Unknown([Attribute.of(name, rows.geometry, 16) for name in names])


def test_shares_are_those_among_the_rows_with_the_guessed_value(rows: Rows, unknown: Callable[..., Unknown]) -> None:
    married = Attribute.of("married", rows.geometry, 16)
    (no, share_no), (yes, share_yes) = unknown("single").combinations(rows, married.candidates(rows), married.size)
    assert (no.tolist(), yes.tolist()) == ([-1], [1])
    np.testing.assert_allclose(np.exp(share_no), [1 / 3, 1])
    np.testing.assert_allclose(np.exp(share_yes), [2 / 3, 0], err_msg="nobody is single and married")


def test_several_attributes_have_the_combinations_that_occur(rows: Rows, unknown: Callable[..., Unknown]) -> None:
    married = Attribute.of("married", rows.geometry, 16)
    combinations = unknown("single", "rooms").combinations(rows, married.candidates(rows), married.size)
    assert [values.tolist() for values, _ in combinations] == [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    np.testing.assert_allclose(np.exp([share for _, share in combinations]).sum(axis=0), 1)
    assert unknown("single", "rooms").features.tolist() == [1, 2]


def test_a_value_that_no_row_has_leaves_no_nan(rows: Rows, unknown: Callable[..., Unknown]) -> None:
    combinations = unknown("single").combinations(rows, np.zeros(rows.n, dtype=int), 3)
    assert not np.isnan([share for _, share in combinations]).any()


def test_nothing_unknown_has_no_combinations(rows: Rows, unknown: Callable[..., Unknown]) -> None:
    assert unknown().combinations(rows, np.zeros(rows.n, dtype=int), 2) == []
    assert unknown().features.tolist() == []
