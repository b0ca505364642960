"""The block of a streamed table: sums, counts and scores of a block in memory, and no rows at random places."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data import streamed_counts
from dpbench.data.bins import Binning
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import BLOCK_ROWS, Splits
from dpbench.data.streamed_block import StreamedBlock
from dpbench.data.table import Table

SPLITS = Splits(repeats=2, folds=2, by="blocks")
ROWS = 6 * BLOCK_ROWS + 55


@pytest.fixture(scope="module", params=[True, False], ids=["intercept", "no intercept"])
def both(request: pytest.FixtureRequest, table: Callable[..., Table]) -> tuple[Block, StreamedBlock]:
    """The same block in memory and streamed."""
    generator = np.random.default_rng(1)
    rows = scale(table(generator.uniform(-1, 1, (ROWS, 3)), generator.uniform(-1, 1, ROWS)), "box", request.param, "real")

    def blocks_of(repeat: int, wanted: Callable[[int], bool]) -> Iterator[tuple[int, Rows]]:
        for block, part in enumerate(SPLITS.block_parts(7, 0, "t", repeat)):
            if wanted(part):
                yield part, rows.take(slice(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS))

    loaded = Block(lambda r: rows, lambda r: SPLITS.assign(ROWS, ROWS, 0, "t", r), range(2), 2, 2, by_blocks=True)
    return loaded, StreamedBlock(rows.geometry, np.array(loaded.grams), np.array(loaded.counts), range(2), 2, blocks_of)


def test_sums_counts_and_scores_are_those_of_the_block_in_memory(both: tuple[Block, StreamedBlock]) -> None:
    loaded, streamed = both
    weights = np.random.default_rng(0).normal(size=loaded.geometry.dimension)
    assert streamed.runs == loaded.runs
    for one, other in ((streamed.train, loaded.train), (streamed.test, loaded.test)):
        np.testing.assert_array_equal(one.moments.gram, other.moments.gram)
        np.testing.assert_array_equal(one.n, other.n)
        np.testing.assert_array_equal(one.half_range, other.half_range)
        for run in range(one.runs):
            (y, scores), (other_y, other_scores) = one.scores(run, [weights]), other.scores(run, [weights])
            np.testing.assert_array_equal(y, other_y)
            np.testing.assert_array_equal(scores, other_scores)
            np.testing.assert_array_equal(np.concatenate([rows.z for rows in one.chunks(run)]), other.rows(run).z)


@pytest.mark.parametrize("bins", [2, 30, 200_000])
def test_bins_are_counted_as_in_memory_however_many_rows_are_merged_at_a_time(
    both: tuple[Block, StreamedBlock], bins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, streamed = both
    monkeypatch.setattr(streamed_counts, "MERGED_ROWS", 2 * BLOCK_ROWS)
    binning = Binning(loaded.geometry, bins)
    assert (len(binning.index_axes) > 1) == (bins == 200_000)
    for one, other in ((streamed.train, loaded.train), (streamed.test, loaded.test)):
        for run in range(one.runs):
            ours, expected = one.bin_counts(binning, run), other.bin_counts(binning, run)
            np.testing.assert_array_equal(ours.index, expected.index)
            np.testing.assert_array_equal(ours.counts, expected.counts)


def test_rows_at_random_places_are_refused(both: tuple[Block, StreamedBlock]) -> None:
    _, streamed = both
    with pytest.raises(Refused, match="The table is streamed"):
        streamed.test.rows(0)
    with pytest.raises(Refused, match="The table is streamed"):
        streamed.rows(0)
