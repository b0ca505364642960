"""Samples: one run, fewer columns, whole tables. Their sums are the sums of their rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.data.bins import Binning
from dpbench.data.blocks import Block
from dpbench.data.moments import gram
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.data.table import Column
from dpbench.privacy.queries.query import contributions, exact_answer


def test_a_sum_over_many_chunks_is_the_sum(scaled, make, curate, row_by_row) -> None:
    many = Rows(np.tile(scaled.z, (8, 1)), scaled.geometry)
    query = make("model", "linear").prepare(curate(many)).polynomial()
    np.testing.assert_array_equal(WholeSample(many).sums(row_by_row(query)), 8 * WholeSample(scaled).sums(row_by_row(query)))


@pytest.mark.parametrize("left_out", [["x1"], ["g0"], ["x0", "g0", "x3"]])
def test_without_some_attributes_the_sums_are_those_of_the_other_columns(
    left_out, scaled, block_of, make, curate, row_by_row
) -> None:
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
            np.testing.assert_array_equal(narrow.sums(row_by_row(query))[run], exact_answer(query, narrow)[run])


def test_the_bins_of_a_run_are_those_of_its_rows(table) -> None:
    """Of folds, of single runs and without an attribute; also where each repeat has a table of its own."""
    generator = np.random.default_rng(0)
    tables = [scale(table(generator.uniform(-1, 1, (61, 3)), generator.uniform(-1, 1, 61)), "box", True, "real") for _ in "ab"]
    splits = Splits(repeats=2, folds=3)
    for own in (False, True):
        block = Block(
            lambda r, own=own: tables[r if own else 0], lambda r: splits.assign(61, 61, 0, "t", r), range(2), splits.parts, 3
        )
        for sample in (block.train, block.test, block.train.without(["x1"])):
            binning = Binning(sample.geometry, 4)
            for run in range(sample.runs):
                expected = binning.locate(sample.rows(run))
                np.testing.assert_array_equal(sample.bins(binning, run), expected)
                np.testing.assert_array_equal(sample.for_run(run).bins(binning, 0), expected)


def test_whole_tables_have_the_sums_of_their_rows_whether_they_differ_or_repeat(scaled, make, curate, row_by_row) -> None:
    first, second = scaled.take(np.arange(40)), scaled.take(np.arange(40, 100))
    sample = WholeSample(first, second, first)
    query = make("model", "linear").prepare(curate(sample)).polynomial()
    assert sample.runs == 3
    assert sample.n.tolist() == [40, 60, 40]
    for run, rows in enumerate((first, second, first)):
        assert sample.rows(run) is rows
        np.testing.assert_array_equal(sample.moments.gram[run], gram(rows.z))
        np.testing.assert_array_equal(sample.sums(row_by_row(query))[run], contributions(query, rows, 0).sum(axis=0))


class Weighted:
    """A query with a state: each run multiplies its rows by its own number."""

    size = 1

    def __init__(self, *factors: float) -> None:
        self.state = np.array(factors)

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        return self.state[run] * rows.y[:, None]


def test_a_state_of_the_query_belongs_to_its_run(scaled, block_of) -> None:
    block = block_of(scaled, Splits(repeats=1, folds=2), scaled.n)
    for sample in (block.train, WholeSample(scaled, scaled)):
        sums = sample.sums(Weighted(2.0, 3.0))[:, 0]
        expected = [factor * sample.rows(run).y.sum() for run, factor in enumerate((2.0, 3.0))]
        np.testing.assert_allclose(sums, expected, rtol=1e-12)
        np.testing.assert_allclose(sample.for_run(1).sums(Weighted(3.0))[:, 0], expected[1], rtol=1e-12)


def test_each_run_has_the_half_range_of_its_own_repeat_s_table(scaled) -> None:
    """A table that is drawn for each repeat may declare another range."""
    wide = Rows(scaled.z, replace(scaled.geometry, target_column=Column("y", -7, 7)))
    splits = Splits(repeats=2, folds=2)
    block = Block(lambda r: (scaled, wide)[r], lambda r: splits.assign(scaled.n, scaled.n, 0, "t", r), range(2), 2, 2)
    half = scaled.geometry.half_range
    assert block.test.half_range.tolist() == [half, half, 7, 7]
    assert block.test.for_run(2).half_range.tolist() == [7]
    assert block.test.without(["x1"]).half_range.tolist() == [half, half, 7, 7]


@pytest.mark.parametrize("rows", [1, 3, 512, 513, 1_029, 5_003])
def test_scores_are_those_of_all_rows_at_once_to_the_bit(rows, scaled, monkeypatch) -> None:
    """Even where a single row remains after whole chunks: NumPy takes its product with a vector for a dot product."""
    monkeypatch.setattr("dpbench.data.scaling.CHUNK", 512)
    part = scaled.take(slice(0, rows))
    vectors = np.random.default_rng(0).normal(size=(6, scaled.geometry.dimension))
    targets, scores = WholeSample(part).scores(0, list(vectors))
    np.testing.assert_array_equal(targets, part.y)
    for vector, got in zip(vectors, scores, strict=True):
        np.testing.assert_array_equal(got, part.x @ vector)


def test_rows_are_taken_by_position_or_by_a_mask(scaled) -> None:
    positions = np.array([5, 2, 2, -1])
    mask = np.arange(scaled.n) % 3 == 0
    for index in (positions, mask, slice(3, 9), np.array([], dtype=int)):
        np.testing.assert_array_equal(scaled.take(index).z, scaled.z[index])
