"""Streamed rows: ranges that cover the table, sums that units bring or make, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.loading import last_rows, rows_of
from dpbench.cells.streaming import MIN_BLOCKS_OF_RANGE, StreamedRows, ranges_of, sum_range
from dpbench.cells.unit_runner import last_runner, run_unit
from dpbench.cells.work_unit import Unit
from dpbench.data.splits import BLOCK_ROWS, Splits
from dpbench.data.streamed_sums import StreamedSums

pyarrow = pytest.importorskip("pyarrow")
ROWS = 9 * BLOCK_ROWS + 5
SPLITS = Splits("kfold", 2, 2, by="blocks")


@pytest.fixture(autouse=True)
def _nothing_cached() -> None:
    last_rows.clear()
    last_runner.clear()


@pytest.fixture
def cell(tmp_path: Path) -> Callable[..., Cell]:
    """A cell on a streamed file of two columns."""
    from pyarrow import parquet

    x = np.random.default_rng(0).uniform(-1.5, 1, ROWS)
    parquet.write_table(pyarrow.table({"x": x, "y": x**2}), tmp_path / "it.parquet", row_group_size=10_000)

    def built(splits: Splits = SPLITS, bounds: Any = None) -> Cell:
        declared = bounds or {"x": [-1, 1], "y": [0, 2]}
        options = {"path": str(tmp_path / "it.parquet"), "target": "y", "bounds": declared, "stream": True}
        choices = [ComponentChoice(*pair) for pair in (("fm", {}), ("linear", {}), ("table", options), ("none", {}))]
        return Cell(*choices, splits, Settings(), {})

    return built


def test_ranges_cover_every_block_once_whatever_the_number_of_workers(cell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MIN_BLOCKS_OF_RANGE > 10
    assert [(part.first, part.last) for part in ranges_of(cell(), 8)] == [(0, 10)], "it is too small to be cut"
    monkeypatch.setattr("dpbench.cells.streaming.MIN_BLOCKS_OF_RANGE", 1)
    whole = sum_range(ranges_of(cell(), 1)[0])
    assert len(ranges_of(cell(), 50)) == 4, "a range begins where a row group does"
    for workers in (2, 3, 50):
        ranges = ranges_of(cell(), workers)
        assert [block for part in ranges for block in range(part.first, part.last)] == list(range(10))
        parts = [sum_range(part) for part in ranges]
        assert all(isinstance(part, StreamedSums) for part in parts)
        for one, other in zip(vars(reduce(add, parts)).values(), vars(whole).values(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_unit_makes_the_sums_that_it_does_not_bring(cell) -> None:
    sums = sum_range(ranges_of(cell(), 1)[0])
    assert isinstance(sums, StreamedSums)
    alone = Unit((cell(),), (0, 1))
    (brought,) = run_unit(replace(alone, sums=sums))
    last_runner.clear()
    last_rows.clear()
    (made,) = run_unit(alone)
    assert not brought.error
    np.testing.assert_array_equal(brought.runs["weights"], made.runs["weights"])
    assert brought.clipped == made.clipped
    assert alone.one_cell_each[0].sums is None
    assert replace(alone, sums=sums).one_cell_each[0].sums is sums


def test_facts_are_known_before_any_row_is_read(cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpbench.cells.streaming.sum_blocks", pytest.fail)
    rows = rows_of(cell())
    assert isinstance(rows, StreamedRows)
    assert rows.facts(0).rows == ROWS
    assert rows.facts(0).geometry.columns == ("x",)
    assert rows.part_sizes(1).sum() == ROWS
    assert np.isnan(rows.known_coefficients([(0, 0)])).all()


def test_splits_by_rows_are_refused(cell) -> None:
    with pytest.raises(Refused, match=r"set splits\.by=blocks"):
        rows_of(cell(Splits("kfold", 2, 2)))


def test_a_column_that_is_constant_within_its_bounds_fails_the_unit(cell) -> None:
    (result,) = run_unit(Unit((cell(bounds={"x": [5, 6], "y": [0, 2]}),), (0, 1)))
    assert "The column 'x' of it.parquet has the same value in every row after clipping to its bounds" in result.error
