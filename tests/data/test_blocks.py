"""Blocks: training is the total minus the fold, to the bit, and no run depends on the others of its block."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data import blocks
from dpbench.data.bins import Binning
from dpbench.data.blocks import Block
from dpbench.data.moments import from_multiples, gram
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.privacy.queries.query import exact_answer

SCHEMES = [Splits(repeats=2, folds=3), Splits(scheme="holdout", repeats=4)]


@pytest.mark.parametrize("splits", SCHEMES, ids=["k-fold", "hold-out"])
@pytest.mark.parametrize("sampled", [5_003, 2_000])
def test_every_run_s_sums_are_those_of_its_own_rows(splits, sampled, scaled, block_of, make, curate, row_by_row) -> None:
    block = block_of(scaled, splits, sampled)
    query = make("model", "linear").prepare(curate(block.train, runs=block.runs)).polynomial()
    assert len(block.runs) == splits.runs == block.train.runs
    for sample in (block.train, block.test):
        for run in range(sample.runs):
            rows = sample.rows(run)
            direct = WholeSample(rows)
            assert sample.n[run] == rows.n
            for seen in (sample.chunks(run), sample.for_run(run).chunks(0)):
                np.testing.assert_array_equal(np.concatenate([chunk.z for chunk in seen]), rows.z)
            np.testing.assert_array_equal(sample.moments.gram[run], gram(rows.z))
            np.testing.assert_array_equal(sample.sums(row_by_row(query))[run], direct.sums(row_by_row(query))[0])
            np.testing.assert_array_equal(exact_answer(query, sample)[run], exact_answer(query, direct)[0])
            np.testing.assert_array_equal(sample.for_run(run).moments.gram[0], gram(rows.z))
            np.testing.assert_array_equal(sample.for_run(run).sums(row_by_row(query))[0], direct.sums(row_by_row(query))[0])


@pytest.mark.parametrize("splits", SCHEMES, ids=["k-fold", "hold-out"])
def test_a_run_trains_on_what_it_does_not_test_and_nothing_unsampled(splits, scaled, block_of) -> None:
    tagged = Rows(np.column_stack([np.ones(scaled.n), np.arange(scaled.n), scaled.z[:, 2:]]), scaled.geometry)
    block = block_of(tagged, splits, 3_000)
    for run, (repeat, fold) in enumerate(block.runs):
        train, test = (set(sample.rows(run).z[:, 1]) for sample in (block.train, block.test))
        labels = block.labels(repeat)
        assert not train & test
        assert train | test == set(np.flatnonzero(labels >= 0))
        assert test == set(np.flatnonzero(labels == fold))


@pytest.mark.parametrize("splits", SCHEMES, ids=["k-fold", "hold-out"])
def test_the_tables_of_runs_hold_the_rows_of_each_of_them(splits, scaled, block_of) -> None:
    """One table for each repeat of a block, and one for each run of a sample that knows no more."""
    block = block_of(scaled, splits, 3_000)
    for sample, tables in ((block.train, splits.repeats), (block.test, splits.repeats), (block.train.for_run(1), 1)):
        runs = []
        for table in sample.tables():
            parts = [table.included(slice(start, start + 1_000)) for start in range(0, table.rows.n, 1_000)]
            for included in np.concatenate(parts, axis=1)[table.chosen]:
                np.testing.assert_array_equal(table.rows.z[included], sample.rows(table.runs.start + len(runs) % splits.tests).z)
                runs.append(table.runs)
        assert len(runs) == sample.runs
        assert len({(runs.start, runs.stop) for runs in runs}) == tables


def test_every_row_of_a_k_fold_is_tested_once_a_repeat(scaled, block_of) -> None:
    block = block_of(scaled, Splits(repeats=2, folds=3), scaled.n)
    whole = gram(scaled.z)
    for repeat in block.test.moments.gram.reshape(2, 3, *whole.shape):
        np.testing.assert_array_equal(repeat.sum(axis=0), whole)
    assert block.test.n.reshape(2, 3).sum(axis=1).tolist() == [scaled.n, scaled.n]


@pytest.mark.parametrize("rows_at_a_time", [97, 5_003])
@pytest.mark.parametrize("scheme", ["kfold", "holdout"])
@pytest.mark.parametrize("sampled", [5_003, 2_000])
@pytest.mark.parametrize("repeats", [1, 9])
@pytest.mark.parametrize("redrawn", [False, True], ids=["one table", "a table for each repeat"])
def test_sums_of_products_are_exact_however_rows_are_gathered(
    rows_at_a_time, scheme, sampled, repeats, redrawn, scaled, monkeypatch
) -> None:
    """The largest part may be the total minus the others, and repeats take turns on chunks of rows."""
    monkeypatch.setattr("dpbench.data.blocks.CHUNK", rows_at_a_time)
    monkeypatch.setattr("dpbench.data.blocks.EXACT_ROWS", 2_500)  # a table of 5,003 rows is long
    splits = Splits(scheme, repeats, folds=3)
    last: list[tuple[int, Rows]] = []

    def rows_of(repeat: int) -> Rows:
        if not redrawn:
            return scaled
        if not last or last[0][0] != repeat:
            last[:] = [(repeat, Rows(np.roll(scaled.z, repeat, axis=0), scaled.geometry))]
        return last[0][1]

    def labels_of(repeat: int) -> np.ndarray:
        return splits.assign(scaled.n, sampled, 0, "t", repeat)

    block = Block(rows_of, labels_of, range(repeats), splits.parts, splits.tests)
    for repeat in range(repeats):
        for part in range(splits.parts):
            expected = gram(rows_of(repeat).z[labels_of(repeat) == part])
            np.testing.assert_array_equal(from_multiples(block.grams[repeat, part]), expected)


def test_repeats_and_runs_do_not_depend_on_their_block(scaled, block_of) -> None:
    splits = Splits(repeats=3, folds=3)
    together = block_of(scaled, splits, 4_000).train.moments.gram.reshape(3, 3, *gram(scaled.z).shape)
    for repeat in (2, 0, 1):
        alone = Block(lambda r: scaled, lambda r: splits.assign(scaled.n, 4_000, 0, "t", r), [repeat], splits.parts, splits.tests)
        np.testing.assert_array_equal(alone.train.moments.gram, together[repeat])


@pytest.mark.parametrize("limit", [0, 2**27])
def test_the_counts_of_bins_are_those_of_each_run_whatever_is_remembered(limit, table, block_of, monkeypatch) -> None:
    monkeypatch.setattr(blocks, "MAX_BYTES_OF_COUNTS", limit)
    x = np.random.default_rng(0).uniform(-1, 1, (5_003, 3))
    boxed = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    block = block_of(boxed, SCHEMES[0], 2_000)
    fine, coarse = (Binning(boxed.geometry, bins) for bins in (5, 3))
    for sample in (block.train, block.test):
        for binning in (fine, fine, coarse, fine):
            for run in range(sample.runs):
                direct = binning.count(binning.locate(sample.rows(run)))
                for counts in (sample.bin_counts(binning, run), sample.for_run(run).bin_counts(binning, 0)):
                    np.testing.assert_array_equal(counts.index, direct.index)
                    np.testing.assert_array_equal(counts.counts, direct.counts)
    again = block.train.bin_counts(fine, 0)
    assert (block.train.bin_counts(fine, 0) is again) == (limit > 0)
