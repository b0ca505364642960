"""Sums over all bins of a grid, and over some of them, are those of rows."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.bin_grid import Grid


@pytest.fixture
def grid() -> Grid:
    generator = np.random.default_rng(0)
    return Grid(generator.normal(size=(6, 3)), generator.normal(size=(5, 3)))


def rows_of(grid: Grid) -> np.ndarray:
    return (grid.head[:, None] + grid.tail).reshape(-1, 3)


@pytest.mark.parametrize("heads", [slice(None), slice(2, 5), slice(3, 3)])
def test_sums_over_all_bins_of_some_heads_are_those_of_rows(heads, grid) -> None:
    part = grid.part(heads)
    weights = np.random.default_rng(1).normal(size=(len(part.head), 5))
    rows = rows_of(part)
    np.testing.assert_allclose(part.sum(weights), weights.ravel() @ rows, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(part.gram(weights), (rows.T * weights.ravel()) @ rows, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("positions", [[], [7], [0, 1, 4, 5, 5, 6, 22, 29], [25, 25, 26], range(30)])
def test_sums_over_scattered_bins_are_those_of_their_rows(positions, grid) -> None:
    """Also where heads have no bin, the first, the last or one between, and where a bin occurs again."""
    positions = np.array(positions, dtype=np.int64)
    bins, rows = grid.at(positions), rows_of(grid)[positions]
    weights = np.random.default_rng(1).normal(size=len(positions))
    np.testing.assert_allclose(bins.sum(weights), weights @ rows, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(bins.gram(weights), (rows.T * weights) @ rows, rtol=1e-12, atol=1e-12)


def test_a_bin_combines_what_its_head_and_its_tail_have(grid) -> None:
    of_heads, of_tails, positions = np.arange(6.0), 10 * np.arange(5.0), np.array([0, 8, 8, 29])
    every = grid.combine(np.add, of_heads, of_tails)
    np.testing.assert_array_equal(every, of_heads[:, None] + of_tails)
    np.testing.assert_array_equal(grid.at(positions).combine(np.add, of_heads, of_tails), every.ravel()[positions])
