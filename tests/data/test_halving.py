"""Halving: which column is cut, how often, and that codes, cells and boxes agree."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.halving import MAX_DEPTH, Halving


def test_the_widest_column_is_halved_and_the_first_among_equals(geometry) -> None:
    """Numeric columns have the width 2, one-hot columns 1: after one round all are equally wide."""
    assert Halving(geometry(2, (3,)), 9).order == (0, 1, 0, 1, 2, 3, 4, 0, 1)


def test_a_column_is_halved_until_its_levels_are_apart(geometry) -> None:
    from dataclasses import replace

    g = replace(geometry(3), levels=(2, 5, 3))
    partition = Halving(g)
    assert [partition.order.count(column) for column in range(3)] == [1, 3, 2]
    assert len(Halving(geometry(9)).order) == MAX_DEPTH


@pytest.mark.parametrize("levels", [2, 3, 4, 5, 7, 8, 12])
def test_different_levels_have_different_codes(levels, geometry, rows) -> None:
    from dataclasses import replace

    g = replace(geometry(1), levels=(levels,))
    codes = Halving(g).locate(rows(g, np.linspace(-1, 1, levels)[:, None], np.zeros(levels)))[:, 0]
    assert (np.diff(codes) > 0).all()


@pytest.mark.parametrize("scaling", ["box", "corner"])
def test_rows_lie_in_the_box_of_their_cell(scaling, geometry, rows) -> None:
    generator = np.random.default_rng(0)
    g = geometry(3, () if scaling == "corner" else (2, 3), scaling=scaling)
    x = g.from_box(np.round(generator.uniform(-1, 1, (500, g.features)), 1))
    for group in g.groups:
        x[:, list(group)] = np.eye(len(group))[generator.integers(len(group), size=500)]
    partition = Halving(g)
    codes = partition.locate(rows(g, x, np.zeros(500)))[:, 0]
    assert (codes >= 0).all()
    assert (codes < partition.end).all()
    # the cells of the first level, one of them cut again, and one of these once more
    half, step = partition.end // 2, partition.end // 4
    starts = np.array([0, step, step + step // 2, half])
    np.testing.assert_array_equal(partition.depths(starts), [2, 3, 3, 1])
    low, high = partition.boxes(starts)
    cell = np.searchsorted(starts, codes, side="right") - 1
    assert len(set(cell)) == 4
    assert ((low[cell] <= x) & (x <= high[cell])).all()
    volume = np.prod(high - low, axis=1)
    np.testing.assert_allclose(volume / volume.sum(), [1 / 4, 1 / 8, 1 / 8, 1 / 2])


def test_what_cannot_be_halved_is_refused(geometry) -> None:
    with pytest.raises(ValueError, match="the ball does not keep"):
        Halving(geometry(2, scaling="ball"))
    with pytest.raises(ValueError, match="from 1 to 52"):
        Halving(geometry(2), 53)
