"""Bins of rows that come block by block are counted as those of all rows at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data import streamed_counts
from dpbench.data.bins import Binning
from dpbench.data.scaling import Rows, scale
from dpbench.data.streamed_counts import count_parts
from dpbench.data.table import Table


@pytest.fixture
def rows(table: Callable[..., Table]) -> Rows:
    generator = np.random.default_rng(1)
    return scale(table(generator.uniform(-1, 1, (500, 3)), generator.uniform(-1, 1, 500)), "box", True, "real")


@pytest.mark.parametrize("merged", [1, 70, 10_000])
def test_parts_have_the_counts_of_their_own_rows_in_the_same_bins(
    merged: int, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed_counts, "MERGED_ROWS", merged)
    binning, parts = Binning(rows.geometry, 3), [0, 2, 0, 1, 2]
    blocks = [rows.take(slice(start, start + 100)) for start in range(0, 500, 100)]
    bins, counts = count_parts(binning, zip(parts, blocks, strict=True), 4)
    np.testing.assert_array_equal(bins, binning.count(binning.locate(rows)).index)
    for part in range(3):
        own = binning.locate(rows.take(np.repeat(np.array(parts) == part, 100)))
        np.testing.assert_array_equal(counts[part], [(own == index).all(axis=1).sum() for index in bins])
    assert not counts[3].any()


def test_no_rows_fill_no_bins(rows: Rows) -> None:
    bins, counts = count_parts(Binning(rows.geometry, 3), [], 2)
    assert (len(bins), counts.shape) == (0, (2, 0))


def test_bins_that_would_fill_the_memory_are_refused(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed_counts, "MAX_BYTES", 1_000)
    with pytest.raises(Refused, match=r"fill at least .* bins, whose counts do not fit into memory\. Take fewer bins, or"):
        count_parts(Binning(rows.geometry, 10), [(0, rows)], 1)
