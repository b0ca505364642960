"""A pass over a streamed table: the rows and sums of the loaded table, to the bit, in any ranges and chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add

import numpy as np
import pytest

from dpbench.data.moments import exact_gram
from dpbench.data.scaling import Scaler, Scaling, scale
from dpbench.data.splits import BLOCK_ROWS, Splits
from dpbench.data.streamed_sums import StreamedSums, scaled_blocks, sum_blocks
from dpbench.data.table import Table
from dpbench.data.table_stream import TableChunk, TableStream

ROWS = 11 * BLOCK_ROWS + 123
BLOCKS = 12


class Streamed(TableStream):
    """A table in memory that is read in chunks of uneven sizes."""

    starts = (0,)

    def __init__(self, table: Table, most: int) -> None:
        self.table = table
        self.head = table.take(np.array([0, 1]))
        self.rows = table.rows
        self.most = most

    def chunks(self, first: int, last: int, size: int) -> Iterator[TableChunk]:
        start, last = first, min(last, self.rows)
        while start < last:
            stop = min(start + min(size, self.most), last)
            features, response = self.table.features[start:stop], self.table.response[start:stop]
            columns = np.column_stack([features, response])
            yield TableChunk(list(features.T), response, columns.min(axis=0), columns.max(axis=0))
            start = stop

    def check_ranges(self, low: np.ndarray, high: np.ndarray) -> None:
        raise AssertionError("nobody asked for it")


@pytest.fixture(scope="module")
def whole(table: Callable[..., Table]) -> Table:
    """Numeric columns that reach beyond their bounds, a one-hot group, and a target that does, too."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1.2, 1.1, (ROWS, 3)), np.eye(3)[generator.integers(3, size=ROWS)]])
    return table(x, x.sum(axis=1) / 3, (3,))


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("most", [1_000, 100_000])
@pytest.mark.parametrize("values", [2**22, 3 * 8 * BLOCK_ROWS, 1])
def test_streamed_rows_are_scaled_as_loaded_ones(
    scaling: Scaling, most: int, values: int, whole: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpbench.data.streamed_sums.MAX_VALUES_AT_ONCE", values)
    rows = scale(whole, scaling, True, "real")
    scaler = Scaler(whole, scaling, True, "real")
    assert scaler.geometry == rows.geometry
    parts = [(block, z.copy()) for block, z in scaled_blocks(Streamed(whole, most), scaler, 0, BLOCKS)]
    np.testing.assert_array_equal(np.concatenate([z for _, z in parts]), rows.z)
    starts = np.cumsum([0, *(len(z) for _, z in parts)])[:-1]
    assert [block * BLOCK_ROWS for block, _ in parts] == starts.tolist()


@pytest.mark.parametrize(
    "splits", [Splits(repeats=3, folds=2, by="blocks"), Splits("holdout", 2, test_fraction=0.4, by="blocks")]
)
@pytest.mark.parametrize("values", [2**22, 1])
def test_one_pass_gives_the_sums_of_every_part_of_every_repeat(
    splits: Splits, values: int, whole: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpbench.data.streamed_sums.MAX_VALUES_AT_ONCE", values)
    scaler, z = Scaler(whole, "box", True, "real"), scale(whole, "box", True, "real").z
    labels = np.stack([splits.block_parts(BLOCKS, 0, "t", repeat) for repeat in range(splits.repeats)])
    sums = sum_blocks(Streamed(whole, 5_000), scaler, labels, splits.parts, 0, BLOCKS)
    assert sums.rows == ROWS
    for repeat in range(splits.repeats):
        parts = splits.assign(ROWS, ROWS, 0, "t", repeat)
        for part in range(splits.parts):
            np.testing.assert_array_equal(sums.grams[repeat, part], exact_gram(z[parts == part]))
            assert sums.counts[repeat, part] == (parts == part).sum()


def test_the_sums_of_ranges_add_up_in_any_order(whole: Table) -> None:
    stream, scaler, labels = Streamed(whole, 9_999), Scaler(whole, "box", True, "real"), np.arange(BLOCKS)[None] % 3

    def total(*edges: int) -> StreamedSums:
        ranges = list(zip((0, *edges), (*edges, BLOCKS), strict=True))
        return reduce(add, (sum_blocks(stream, scaler, labels, 3, *ends) for ends in ranges[::-1]))

    expected = total()
    for edges in ((5,), (1, 2, 3), (4, 11)):
        for one, other in zip(vars(total(*edges)).values(), vars(expected).values(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_values_outside_their_bounds_are_counted_as_in_the_loaded_table(whole: Table) -> None:
    rows = scale(whole, "box", True, "real")
    sums = sum_blocks(Streamed(whole, 10_000), Scaler(whole, "box", True, "real"), np.zeros((1, BLOCKS), int), 1, 0, BLOCKS)
    assert (*(sums.outside / ROWS).tolist(),) == (*rows.features_clipped, rows.target_clipped)
    np.testing.assert_array_equal(sums.low, [*whole.features.min(axis=0), whole.response.min()])
    np.testing.assert_array_equal(sums.high, [*whole.features.max(axis=0), whole.response.max()])
