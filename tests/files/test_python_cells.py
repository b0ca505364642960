"""Cells from Python mean what they would mean in a file, whatever holds them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest

from dpbench.base.errors import Refused
from dpbench.data.column_format import NUMBER, ColumnFormat
from dpbench.files.python_cells import arrow_column, read_cells


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([1, None, 2.5], [1, None, 2.5]),
        ([True, None], [True, None]),
        ([1, "a", None, True, 2.0, float("nan")], ["1", "a", None, "true", "2", None]),
        ([date(2026, 1, 31), "x"], ["2026-01-31", "x"]),
        ([Decimal("1.5"), "x"], ["1.5", "x"]),
    ],
)
def test_cells_of_one_type_keep_it_and_mixed_ones_become_texts(cells: list[Any], values: list[Any]) -> None:
    assert arrow_column(cells).to_pylist() == values


def test_what_is_no_single_cell_can_only_be_ignored() -> None:
    assert pyarrow.types.is_list(arrow_column([{1}, 2]).type)


@pytest.mark.parametrize("holder", [list, np.array, pandas.Series, pyarrow.array, tuple])
def test_the_holder_of_cells_makes_no_difference(holder: Any) -> None:
    assert read_cells(holder([1.0, 2.0]), "a", NUMBER).tolist() == [1, 2]
    assert read_cells(holder(["b", "a"]), "a", ColumnFormat(("a", "b"))).tolist() == [1, 0]
    assert read_cells(holder([True, False]), "a", ColumnFormat(("false", "true"))).tolist() == [1, 0]


def test_a_single_cell_is_a_column_of_one_and_a_matrix_is_none() -> None:
    assert read_cells(3, "a", NUMBER).tolist() == [3]
    with pytest.raises(Refused, match=r"must be a list of cells\. Got an array of another shape"):
        read_cells(np.ones((2, 2)), "a", NUMBER)
