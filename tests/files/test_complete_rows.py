"""Rows without missing values: all of them, which leaks n, or a sample of a declared size, which does not."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.files.complete_rows import CompleteRows

VALUES = np.arange(40.0).reshape(20, 2)
HOLES = np.arange(20) % 4 == 0


def collected(sample_n: int | None, values: np.ndarray = VALUES, holes: np.ndarray = HOLES, chunk: int = 20) -> CompleteRows:
    rows = CompleteRows(sample_n, np.random.default_rng(0))
    for start in range(0, len(values), chunk):
        part = slice(start, start + chunk)
        rows.add(values[part], {"age": holes[part], "sex": np.zeros(len(values[part]), dtype=bool)})
    return rows


def test_all_complete_rows_are_kept_in_their_order_and_n_is_a_leak() -> None:
    rows = collected(None)
    np.testing.assert_array_equal(rows.values("people"), VALUES[~HOLES])
    assert (rows.rows, rows.dropped, rows.reasons["age"]) == (20, 5, 5)
    (leak,) = rows.leaks
    assert leak.what == "rows_dropped"
    assert "5 of 20 rows were left out for a missing value (age 5)" in leak.why


def test_without_a_missing_value_nothing_leaks() -> None:
    assert collected(None, holes=np.zeros(20, dtype=bool)).leaks == ()


@pytest.mark.parametrize("chunk", [1, 3, 20])
def test_a_sample_of_declared_size_leaks_nothing_and_does_not_depend_on_the_chunks(chunk: int) -> None:
    rows = collected(6, chunk=chunk)
    np.testing.assert_array_equal(rows.values("people"), collected(6).values("people"))
    assert len(rows.values("people")) == 6
    assert rows.leaks == ()


def test_one_changed_row_changes_at_most_one_row_of_the_sample() -> None:
    """Also if it becomes complete or incomplete: its place in the file keeps its priority."""
    before = {tuple(row) for row in collected(6).values("people")}
    for row in range(20):
        holes = HOLES.copy()
        holes[row] = not holes[row]
        after = {tuple(values) for values in collected(6, holes=holes).values("people")}
        assert len(after - before) <= 1


def test_a_sample_larger_than_the_complete_rows_is_refused() -> None:
    with pytest.raises(Refused, match=r"sample_n=16 needs more rows than people has without a missing value: 15\."):
        collected(16).values("people")


def test_a_table_without_a_complete_row_is_refused_with_the_reasons() -> None:
    with pytest.raises(Refused, match=r"None of the 20 rows of people is complete\. Missing values: age 20\."):
        collected(None, holes=np.ones(20, dtype=bool)).values("people")
