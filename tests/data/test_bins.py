"""Bins: where rows fall, which points bins stand for, and sums over all bins."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.bins import BinCounts, Binning, spell_count
from dpbench.data.scaling import Rows, scale
from dpbench.data.table import Column, Table


@pytest.fixture
def mixed(geometry):
    """Two continuous columns, one of 3 and one of 50 levels, a group of 4, an intercept: with 5 bins."""
    return Binning(replace(geometry(4, (4,), True), levels=(0, 0, 3, 50, 2, 2, 2, 2)), 5)


@pytest.fixture
def sparse(geometry):
    """8^61 bins: four integers per index."""
    return Binning(geometry(60), 8)


def drawn(binning, count=500, seed=0):
    """Rows anywhere in the box, with a level or none in each group."""
    generator = np.random.default_rng(seed)
    z = np.ones((count, binning.geometry.features + 2))
    z[:, 1:] = generator.uniform(-1, 1, (count, binning.geometry.features + 1))
    for column, levels in enumerate(binning.geometry.levels):
        if levels:
            z[:, 1 + column] = 2 * generator.integers(levels, size=count) / (levels - 1) - 1
    for members in binning.geometry.groups:
        size = len(members)
        z[:, 1 + np.array(members)] = np.vstack([np.eye(size), np.zeros(size)])[generator.integers(size + 1, size=count)]
    if binning.geometry.target == "binary":
        z[:, -1] = z[:, -1] > 0
    rows = Rows(z, binning.geometry)
    return binning.centres(binning.locate(rows)), rows


def test_every_attribute_has_its_bins_and_the_intercept_none(mixed, geometry) -> None:
    assert mixed.shape == (5, 5, 3, 5, 5, 5)
    assert mixed.size == 5 * 5 * 3 * 5 * 5 * 5
    assert Binning(geometry(2, target="binary"), 7).shape == (7, 7, 2)
    assert Binning(geometry(0, (2, 3)), 9).shape == (3, 4, 9)


def test_a_centre_is_half_a_bin_away_at_most_and_a_level_is_met(mixed) -> None:
    centres, rows = drawn(mixed)
    away = np.abs(centres.z - rows.z)
    assert away.max(axis=0) == pytest.approx([0, *[0.2] * 2, 0, 0.2, *[0] * 4, 0.2], abs=0.02)
    assert away.max() <= 0.2 + 1e-12
    assert (away[:, [0, 3, 5, 6, 7, 8]] == 0).all()
    assert (centres.x[:, 0] == 1).all(), "the design has its intercept"


def test_a_binary_target_is_met(geometry) -> None:
    centres, rows = drawn(Binning(geometry(2, target="binary"), 3))
    np.testing.assert_array_equal(centres.y, rows.y)


def test_the_ends_of_the_range_belong_to_the_outer_bins(geometry, rows) -> None:
    binning = Binning(geometry(1), 4)
    values = [-1, -0.5, -1e-9, 0, 0.5, 1 - 1e-12, 1]
    found = binning.locate(rows(binning.geometry, np.array(values)[:, None], np.zeros(len(values))))
    assert (found[:, 0] // 4).tolist() == [0, 1, 1, 2, 3, 3, 3]


def test_every_bin_s_centre_lies_in_that_bin(mixed, sparse) -> None:
    every = np.arange(mixed.size)[:, None]
    np.testing.assert_array_equal(mixed.locate(mixed.centres(every)), every)
    assert len(sparse.index_axes) == 4
    drawn = np.random.default_rng(0).integers(0, [8 ** len(axes) for axes in sparse.index_axes], (200, 4))
    np.testing.assert_array_equal(sparse.locate(sparse.centres(drawn)), drawn)


def test_the_number_of_bins_may_be_astronomically_large(sparse) -> None:
    assert sparse.size == 8**61
    assert spell_count(sparse.size) == "more than 10^55"
    assert spell_count(1000) == "1,000"


@pytest.mark.parametrize("which", ["mixed", "sparse"])
def test_counts_are_those_of_the_rows_of_each_bin(which, request) -> None:
    binning = request.getfixturevalue(which)
    _, rows = drawn(binning, 60)
    index = binning.locate(rows)[np.random.default_rng(1).integers(60, size=300)]
    counted = binning.count(index)
    assert dict(zip(map(tuple, counted.index.tolist()), counted.counts, strict=True)) == Counter(map(tuple, index.tolist()))
    assert all(first < second for first, second in pairwise(map(tuple, counted.index.tolist())))
    weight = np.random.default_rng(2).normal(size=300)
    weighted = binning.count(index, weight)
    np.testing.assert_array_equal(weighted.index, counted.index)
    for bin_index, total in zip(weighted.index, weighted.counts, strict=True):
        assert total == pytest.approx(weight[(index == bin_index).all(axis=1)].sum(), abs=1e-12)


def test_the_difference_of_two_histograms_is_bin_by_bin(mixed) -> None:
    first = BinCounts(np.array([[1], [5], [7]]), np.array([2.0, 1.0, 4.0]))
    second = BinCounts(np.array([[1], [6], [7]]), np.array([2.0, 3.0, 1.0]))
    difference = first.minus(second, mixed)
    assert dict(zip(difference.index[:, 0].tolist(), difference.counts, strict=True)) == {1: 0, 5: 1, 6: -3, 7: 3}


@pytest.mark.parametrize("bins", [2, 5])
@pytest.mark.parametrize("target", ["real", "binary"])
def test_the_moments_of_all_bins_are_those_of_their_centres(bins, target, geometry) -> None:
    """Block by block and at once, with weights of either sign; also where no axis leads."""
    for binning in (Binning(geometry(3, (3,), True, target=target), bins), Binning(geometry(5, (), False, target=target), bins)):
        weight = np.random.default_rng(0).normal(size=binning.size)
        z = binning.centres(np.arange(binning.size)[:, None]).z
        expected = (z.T * weight) @ z
        np.testing.assert_allclose(binning.gram(0, weight), expected, rtol=0, atol=1e-10 * binning.size)
        width = len(binning.grid.tail)
        starts = range(0, binning.size, 2 * width)
        parts = [binning.gram(start, weight[start : start + 2 * width]) for start in starts]
        np.testing.assert_allclose(sum(parts), expected, rtol=0, atol=1e-10 * binning.size)
        assert binning.step % width == 0


@pytest.mark.parametrize("intercept", [True, False])
def test_the_grids_have_the_bins_centres_in_their_order(intercept, geometry) -> None:
    """A bin's index is (head, tail) in order, of the design's grid without the target, and its centre is the sum of two parts."""
    binning = Binning(geometry(5, (3,), intercept), 7)
    rows = binning.centres(np.arange(binning.size)[:, None])
    for grid, expected in ((binning.grid, rows.z), (binning.design_grid, rows.x[:: binning.axes[-1].size])):
        assert min(len(grid.head), len(grid.tail)) > 1
        np.testing.assert_array_equal((grid.head[:, None] + grid.tail).reshape(expected.shape), expected)


def test_few_bins_are_not_seen_as_a_grid(geometry) -> None:
    """Its tables have 512 and 8 rows. Bins with several integers for each have no tables."""
    binning = Binning(geometry(3), 8)
    assert not binning.grid_for(1_039)
    assert binning.grid_for(1_040)
    assert not Binning(geometry(60), 8).grid_for(10**9)


def test_bins_are_coarsened_until_the_cap_is_kept(geometry) -> None:
    g = replace(geometry(3), levels=(0, 0, 4))
    for bins, cap in product([2, 3, 7, 50], [16, 30, 300, 10_000, 10**7]):
        found = Binning.within(g, bins, cap).bins_per_attribute
        assert found == max(fewer for fewer in range(2, bins + 1) if fewer**3 * min(fewer, 4) <= cap)
    with pytest.raises(Refused, match=r"two bins per attribute, the histogram has 16 bins\. The most is 15"):
        Binning.within(g, 5, 15)


def test_the_ball_has_no_bins(geometry) -> None:
    with pytest.raises(ValueError, match="which the ball does not keep"):
        Binning(geometry(2, scaling="ball"), 3)


@pytest.mark.parametrize("target", ["real", "binary"])
def test_in_the_corner_rows_fall_into_the_bins_that_they_have_in_the_box(target, geometry) -> None:
    """Continuous values and declared levels: the same indices, and centres that are mapped as rows are."""
    box = replace(geometry(4, target=target), levels=(0, 3, 50, 2))
    corner = replace(geometry(4, scaling="corner", target=target), levels=box.levels)
    for bins in (3, 60):
        _, rows = drawn(Binning(box, bins))
        z = rows.z.copy()
        z[:, 1:-1] = (z[:, 1:-1] + 1) / 4  # [-1, 1] to [0, 1/√4]
        z[:, 1:-1] += 1e-9 * (z[:, 1:-1] < 0.5)  # off the edges of bins, where rounding decides
        index = Binning(corner, bins).locate(Rows(z, corner))
        expected = Binning(box, bins).locate(Rows(rows.z + np.r_[0, np.full(4, 4e-9), 0] * (rows.z < 1), box))
        np.testing.assert_array_equal(index, expected)
        centres = Binning(corner, bins).centres(index).x
        np.testing.assert_allclose(centres, (Binning(box, bins).centres(index).x + 1) / 4, atol=1e-15)


def test_a_table_s_declared_levels_reach_the_bins() -> None:
    """Whole numbers from 1 to 12: every row's centre is its value; with fewer bins than levels it is not."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.integers(1, 13, 400), generator.integers(0, 2, 400), generator.uniform(0, 1, 400)])
    columns = (Column("education", 1, 12, kind="ordinal"), Column("single", 0, 1, kind="binary"), Column("share", 0, 1))
    rows = scale(Table(columns, Column("y", 0, 1), x.astype(float), generator.uniform(0, 1, 400)), "box", True, "real")
    fine, coarse = Binning(rows.geometry, 12), Binning(rows.geometry, 5)
    assert fine.shape == (12, 2, 12, 12)
    assert coarse.shape == (5, 2, 5, 5)
    np.testing.assert_allclose(fine.centres(fine.locate(rows)).z[:, 1:3], rows.z[:, 1:3], atol=2**-14)
    assert np.abs(coarse.centres(coarse.locate(rows)).z[:, 1] - rows.z[:, 1]).max() > 0.1
