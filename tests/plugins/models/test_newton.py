"""Newton's method for the likelihood: on a grid it is that on rows at the bins' centres."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.bins import BinCounts, Binning
from dpbench.plugins.models._newton import GridExpansion, RowExpansion
from dpbench.plugins.models.logistic import Likelihood


@pytest.fixture
def binned(geometry):
    """About half of 8,192 bins with a weight each, whose classes follow a logistic model."""
    generator = np.random.default_rng(0)
    binning = Binning(geometry(6, (), True, target="binary"), 4)
    centres = binning.centres(np.arange(binning.size)[:, None])
    chance = 1 / (1 + np.exp((1 - 2 * centres.y) * (centres.x @ generator.normal(size=7))))
    (index,) = np.nonzero(generator.random(binning.size) < 0.5)
    return binning, BinCounts(index[:, None], chance[index] * generator.uniform(0.5, 5, len(index)))


@pytest.mark.parametrize("length", [0.0, 1.0, 50.0, 1e3, 1e5])
def test_the_expansion_on_a_grid_is_that_of_rows_at_its_centres(length, binned) -> None:
    """At any weights: the products of exponentials overflow nowhere."""
    binning, bins = binned
    rows, grid = binning.centres(bins.index), binning.grid
    weight = np.zeros(binning.size)
    weight[bins.index[:, 0]] = bins.counts
    rest, ones = weight.reshape(len(grid.head), len(grid.tail), 2).transpose(2, 0, 1)
    w = length * np.random.default_rng(1).normal(size=7)
    ours, expected = GridExpansion(grid, rest + ones, rest, ones, w), RowExpansion(rows.x, rows.y, bins.counts, w)
    assert ours.loss == pytest.approx(expected.loss, rel=1e-12)
    for one, other in ((ours.gradient, expected.gradient), (ours.hessian, expected.hessian)):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12 * bins.counts.sum())


def test_bins_are_fitted_as_rows_at_their_centres(binned) -> None:
    binning, bins = binned
    problem, rows = Likelihood(binning.geometry, np.array([bins.counts.sum()])), binning.centres(bins.index)
    expected = problem.weighted(rows.x, rows.y, bins.counts)
    np.testing.assert_allclose(problem.weighted_bins(binning, bins), expected, rtol=1e-10)
    few = BinCounts(bins.index[::100], bins.counts[::100])  # of few bins, the rows are fitted
    rows = binning.centres(few.index)
    np.testing.assert_array_equal(problem.weighted_bins(binning, few), problem.weighted(rows.x, rows.y, few.counts))
