"""Additive statistics: training is the total less the fold, to the bit, however the rows are summed."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpbench.data.blocks import Block
from dpbench.data.moments import Moments, gram
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits

SCHEMES = [Splits(repeats=2, folds=3), Splits(scheme="holdout", repeats=4)]


@pytest.fixture(scope="module")
def scaled(table) -> Rows:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (5_003, 4)), np.eye(3)[generator.integers(3, size=5_003)]])
    return scale(table(x, np.tanh(x.sum(axis=1)), (3,)), "ball", True, "real")


def block_of(rows: Rows, splits: Splits, sampled: int) -> Block:
    return Block(
        lambda repeat: rows,
        lambda repeat: splits.assign(rows.n, sampled, 0, "t", repeat),
        range(splits.repeats),
        splits.parts,
        splits.tests,
    )


@pytest.mark.parametrize("splits", SCHEMES, ids=["k-fold", "hold-out"])
@pytest.mark.parametrize("sampled", [5_003, 2_000])
def test_every_run_s_sums_are_those_of_its_own_rows(splits, sampled, scaled, make, curate) -> None:  # type: ignore[no-untyped-def]
    block = block_of(scaled, splits, sampled)
    query = make("model", "linear").prepare(curate(block.train, runs=block.runs)).polynomial()
    assert len(block.runs) == splits.runs == block.train.runs
    for sample in (block.train, block.test):
        for run in range(sample.runs):
            rows = sample.rows(run)
            direct = WholeSample(rows)
            assert sample.n[run] == rows.n
            np.testing.assert_array_equal(sample.moments.gram[run], gram(rows.z))
            np.testing.assert_array_equal(sample.sums(query)[run], direct.sums(query)[0])
            np.testing.assert_array_equal(query.exact(sample)[run], query.exact(direct)[0])
            np.testing.assert_array_equal(sample.for_run(run).moments.gram[0], gram(rows.z))
            np.testing.assert_array_equal(sample.for_run(run).sums(query)[0], direct.sums(query)[0])


@pytest.mark.parametrize("splits", SCHEMES, ids=["k-fold", "hold-out"])
def test_a_run_trains_on_what_it_does_not_test_and_nothing_unsampled(splits, scaled) -> None:  # type: ignore[no-untyped-def]
    tagged = Rows(np.column_stack([np.ones(scaled.n), np.arange(scaled.n), scaled.z[:, 2:]]), scaled.geometry)
    block = block_of(tagged, splits, 3_000)
    for run, (repeat, fold) in enumerate(block.runs):
        train, test = (set(sample.rows(run).z[:, 1]) for sample in (block.train, block.test))
        labels = block.labels(repeat)
        assert not train & test
        assert train | test == set(np.flatnonzero(labels >= 0))
        assert test == set(np.flatnonzero(labels == fold))


def test_every_row_of_a_k_fold_is_tested_once_a_repeat(scaled) -> None:  # type: ignore[no-untyped-def]
    block = block_of(scaled, Splits(repeats=2, folds=3), scaled.n)
    whole = gram(scaled.z)
    for repeat in block.test.moments.gram.reshape(2, 3, *whole.shape):
        np.testing.assert_array_equal(repeat.sum(axis=0), whole)
    assert block.test.n.reshape(2, 3).sum(axis=1).tolist() == [scaled.n, scaled.n]


def test_repeats_and_runs_do_not_depend_on_their_block(scaled) -> None:  # type: ignore[no-untyped-def]
    splits = Splits(repeats=3, folds=3)
    together = block_of(scaled, splits, 4_000).train.moments.gram.reshape(3, 3, *gram(scaled.z).shape)
    for repeat in (2, 0, 1):
        alone = Block(lambda r: scaled, lambda r: splits.assign(scaled.n, 4_000, 0, "t", r), [repeat], splits.parts, splits.tests)
        np.testing.assert_array_equal(alone.train.moments.gram, together[repeat])


@pytest.mark.parametrize("n", [1_000, 5_003, 300_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_gram_sums_are_equal_to_the_bit_however_the_rows_lie(n, threads, table) -> None:  # type: ignore[no-untyped-def]
    """Shuffled, in chunks, transposed in memory, strided, by einsum and in extended order; one BLAS thread or two."""
    generator = np.random.default_rng(n)
    z = scale(table(generator.uniform(-1, 1, (n, 3)), generator.uniform(-1, 1, n)), "box", True, "real").z
    with threadpool_limits(1):
        expected = gram(z)
    wide = np.repeat(z[:50_000], 2, axis=0)
    with threadpool_limits(threads):
        np.testing.assert_array_equal(gram(z[generator.permutation(n)]), expected)
        np.testing.assert_array_equal(sum(gram(chunk) for chunk in np.array_split(z, 7)), expected)
        np.testing.assert_array_equal(gram(np.asfortranarray(z)), expected)
        np.testing.assert_array_equal(z.T @ z.copy(), expected)
        np.testing.assert_array_equal(np.einsum("ni,nj->ij", z, z), expected)
        np.testing.assert_array_equal(np.cumsum(z[:, 1] * z[:, -1])[-1], expected[1, -1])
        np.testing.assert_array_equal(gram(wide[::2]), gram(z[:50_000]))


def test_off_the_grid_gram_sums_do_depend_on_the_order() -> None:
    """What the test above would miss if it could not fail."""
    z = np.random.default_rng(0).uniform(-1, 1, (5_003, 5))
    assert (gram(z) != sum(gram(chunk) for chunk in np.array_split(z, 7))).any()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_moments_are_those_of_the_design(intercept, scaling, table) -> None:  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(0)
    rows = scale(table(generator.uniform(-1, 1, (500, 3)), generator.uniform(-1, 1, 500)), scaling, intercept, "real")
    moments = Moments(gram(rows.z)[None], rows.geometry)
    np.testing.assert_array_equal(moments.xx[0], rows.x.T @ rows.x)
    np.testing.assert_array_equal(moments.xy[0], rows.x.T @ rows.y)
    np.testing.assert_array_equal(moments.x[0], rows.x.sum(axis=0))
    assert (moments.n[0], moments.y[0], moments.yy[0]) == (500, rows.y.sum(), rows.y @ rows.y)


def test_a_sum_over_many_chunks_is_the_sum(scaled, make, curate) -> None:  # type: ignore[no-untyped-def]
    many = Rows(np.tile(scaled.z, (8, 1)), scaled.geometry)
    query = make("model", "linear").prepare(curate(many)).polynomial()
    np.testing.assert_array_equal(WholeSample(many).sums(query), 8 * WholeSample(scaled).sums(query))


@pytest.mark.parametrize("left_out", [["x1"], ["g0"], ["x0", "g0", "x3"]])
def test_without_some_attributes_the_sums_are_those_of_the_other_columns(left_out, scaled, make, curate) -> None:  # type: ignore[no-untyped-def]
    block = block_of(scaled, Splits(repeats=2, folds=3), 4_000)
    g = scaled.geometry
    kept = [index for index, name in enumerate(g.attributes) if name not in left_out]
    for sample in (block.train, block.test):
        narrow = sample.without(left_out)
        assert narrow.geometry.columns == tuple(g.columns[index] for index in kept)
        assert narrow.geometry.groups == (() if "g0" in left_out else (tuple(range(len(kept) - 3, len(kept))),))
        assert (narrow.geometry.scaling, narrow.geometry.constant) == (g.scaling, g.constant)
        np.testing.assert_array_equal(narrow.n, sample.n)
        query = make("model", "linear").prepare(curate(narrow, runs=block.runs)).polynomial()
        for run in (0, narrow.runs - 1):
            whole, rows = sample.rows(run), narrow.rows(run)
            np.testing.assert_array_equal(rows.x[:, 1:], whole.x[:, 1:][:, kept])
            np.testing.assert_array_equal(rows.y, whole.y)
            np.testing.assert_array_equal(narrow.moments.gram[run], gram(rows.z))
            np.testing.assert_array_equal(narrow.sums(query)[run], query.exact(narrow)[run])
