"""Rows are recognised by their features, and pay for every fit that they take part in."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from dpbench.accounting.costs import Gdp, Pure
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget
from dpbench.releases.fitted_rows import FittedRows, row_hashes


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.uint64)


def test_disjoint_rows_pay_on_their_own() -> None:
    fitted = FittedRows()
    fitted.pay(rows(1, 2), None, [Pure(1.0)])
    fitted.pay(rows(3, 4), None, [Pure(1.0)])
    with pytest.raises(Refused, match="fitted before"):
        fitted.pay(rows(4, 5), None, [Pure(1.0)])


def test_costs_compose_in_their_own_currency() -> None:
    """Two answers of μ = 0.2 cost less than twice the ε of one."""
    fitted = FittedRows()
    single = Budget().spent([Gdp(0.2)])
    budget = Budget(epsilon=1.6 * single)
    for _ in range(2):
        fitted.pay(rows(1), budget, [Gdp(0.2)])
    with pytest.raises(Refused, match="above the budget"):
        fitted.pay(rows(1), budget, [Gdp(0.2)])


def test_a_fit_that_was_refused_pays_nothing() -> None:
    fitted = FittedRows()
    fitted.pay(rows(1), Budget(epsilon=2), [Pure(1.0)])
    for _ in range(2):
        with pytest.raises(Refused, match="to ε = 3 at"):
            fitted.pay(rows(1), Budget(epsilon=2), [Pure(2.0)])
    fitted.pay(rows(1), Budget(epsilon=2), [Pure(1.0)])


def test_the_same_values_are_the_same_rows_in_any_type_and_order() -> None:
    frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    other = pandas.DataFrame({"c": [3.0, 1.0, 2.0], "d": pandas.Categorical(["x", "x", "y"])})
    assert row_hashes(frame).tolist() == row_hashes(other).tolist()
    assert len(np.intersect1d(row_hashes(frame), row_hashes(frame.assign(a=frame["a"] + 1)))) == 0
