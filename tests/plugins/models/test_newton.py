"""Newton's method for the likelihood: on a grid it is that on rows at the bins' centres."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.bins import BinCounts, Binning
from dpbench.plugins.models import _newton, logistic
from dpbench.plugins.models._newton import BinExpansion, RowExpansion, most_likely
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
    rows, grid = binning.centres(bins.index), binning.design_grid
    positions, ones = np.divmod(bins.index[:, 0], 2)
    w = length * np.random.default_rng(1).normal(size=7)
    scattered = grid.at(positions)
    ours = BinExpansion([(scattered, bins.counts)], scattered.sum(bins.counts * ones), w)
    weight = binning.all_bins(bins).reshape(len(grid.head), len(grid.tail), 2)
    parts = [(grid.part(part), weight[part].sum(axis=2)) for part in (slice(0, 3), slice(3, None))]
    dense = BinExpansion(parts, grid.sum(weight[..., 1]), w)
    expected = RowExpansion(rows.x, rows.y, bins.counts, w)
    for each in (ours, dense):
        assert each.loss == pytest.approx(expected.loss, rel=1e-12)
        for one, other in ((each.gradient, expected.gradient), (each.hessian, expected.hessian)):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12 * bins.counts.sum())


@pytest.mark.parametrize(("step", "way"), [(1, "most_likely_on_grid"), (3, "most_likely_in_bins"), (100, "most_likely")])
def test_bins_are_fitted_as_rows_at_their_centres(step, way, binned, monkeypatch) -> None:
    """Bins of a full grid, scattered ones, and ones so few that rows are made of them."""
    binning, bins = binned
    bins = BinCounts(bins.index[::step], bins.counts[::step])
    problem, rows = Likelihood(binning.geometry, np.array([bins.counts.sum()])), binning.centres(bins.index)
    expected = problem.weighted(rows.x, rows.y, bins.counts)
    np.testing.assert_allclose(problem.weighted_bins(binning, bins), expected, rtol=1e-10)
    monkeypatch.setattr(logistic, way, lambda *_: (way, True))
    assert problem.weighted_bins(binning, bins) == way


@pytest.mark.parametrize("number", range(20))
def test_a_short_step_reaches_the_fall_that_is_required(number) -> None:
    """Newton steps cut to the largest safe length fall far enough, whatever the rows and the weights before them."""
    generator = np.random.default_rng(number)
    x, w = generator.normal(size=(30, 3)) * 10.0 ** generator.uniform(-1, 1), generator.normal(size=3) * 10.0
    y = (generator.random(30) < 0.5).astype(float)
    current = RowExpansion(x, y, None, w)
    step = -np.linalg.solve(current.hessian + _newton.HESSIAN_DAMPING * np.eye(3), current.gradient)
    step *= min(1.0, _newton.MAX_SAFE_STEP / np.abs(x @ step).max())
    fall = current.loss - RowExpansion(x, y, None, w + step).loss
    assert fall >= -_newton.SUFFICIENT_DECREASE * (current.gradient @ step)


def test_most_fits_need_no_value_of_the_loss(binned, monkeypatch) -> None:
    binning, bins = binned
    rows = binning.centres(bins.index)
    expected = most_likely(rows.x, rows.y, bins.counts)[0]
    for expansion in (RowExpansion, BinExpansion):
        monkeypatch.setattr(expansion, "loss", property(lambda _: pytest.fail("computed")))
    np.testing.assert_array_equal(most_likely(rows.x, rows.y, bins.counts)[0], expected)
    Likelihood(binning.geometry, np.array([bins.counts.sum()])).weighted_bins(binning, bins)
