"""The weighted fit of noisy bins."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.bins import BinCounts, Binning
from dpbench.fitting.noisy_histogram import fit_bins, fit_moments, fit_unbiased, moments_suffice


@pytest.fixture
def binned(geometry):
    """12 of 125 bins over two features and the target, with a count for each."""
    generator = np.random.default_rng(0)
    binning = Binning(geometry(2, intercept=True), 5)
    index = np.sort(generator.choice(binning.size, 12, replace=False))
    return binning, BinCounts(index[:, None], generator.uniform(0.5, 4, 12))


@pytest.fixture
def prepared(make, curate, binned):
    """A model's problem with n = 12 rows in one run."""
    return lambda model, **options: make("model", model, **options).prepare(curate(centres_of(binned)))


def centres_of(binned):
    binning, bins = binned
    return binning.centres(bins.index)


def multiplied(binned, factor):
    """The same bins with counts that are this many times as large."""
    binning, bins = binned
    return binning, [BinCounts(bins.index, factor * bins.counts)]


def gram(centres, counts):
    return ((centres.z.T * counts) @ centres.z)[None]


def test_only_a_quadratic_loss_is_determined_by_moments(prepared) -> None:
    assert moments_suffice(prepared("linear"))
    assert moments_suffice(prepared("ridge"))
    assert not moments_suffice(prepared("logistic"))
    assert not moments_suffice(prepared("robust"))


def test_bins_are_fitted_as_weighted_rows(prepared, binned) -> None:
    centres, counts = centres_of(binned), binned[1].counts
    fit = fit_bins(prepared("linear"), *multiplied(binned, 1.0))
    root = np.sqrt(counts)
    expected = np.linalg.lstsq(centres.x * root[:, None], centres.y * root, rcond=None)[0]
    np.testing.assert_allclose(fit.weights[0], expected, rtol=1e-10)
    assert fit.status.tolist() == ["ok"]
    assert fit.health["not_positive_definite"].tolist() == [False]


@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_counts_are_rescaled_to_n_so_that_a_penalty_stays_the_same(factor, prepared, binned) -> None:
    """Ridge for the fit by moments, robust for the fit of rows: their weights are 12 in total, whatever the counts add up to."""
    centres, counts = centres_of(binned), binned[1].counts
    for model, options in (("ridge", {"penalty": 0.3}), ("robust", {})):
        problem = prepared(model, **options)
        once, scaled = (fit_bins(problem, *multiplied(binned, number)) for number in (1.0, factor))
        np.testing.assert_allclose(scaled.weights, once.weights, rtol=1e-6, atol=1e-9)
    expected = gram(centres, counts * 12 / counts.sum())
    once = fit_moments(prepared("ridge", penalty=0.3), gram(centres, counts))
    np.testing.assert_allclose(once.weights, fit_unbiased(prepared("ridge", penalty=0.3), expected, np.array([0.0])).weights)


@pytest.mark.parametrize("model", ["linear", "robust"])
def test_a_run_whose_bins_are_all_empty_gets_zero_weights_and_is_called_repaired(model, prepared, binned) -> None:
    fit = fit_bins(prepared(model), *multiplied(binned, 0.0))
    assert (fit.weights == 0).all()
    assert fit.status.tolist() == ["repaired"]
    assert fit.health["not_positive_definite"].tolist() == [True]


def test_unbiased_counts_are_repaired_where_an_eigenvalue_is_below_the_floor(prepared, binned) -> None:
    centres, counts = centres_of(binned), binned[1].counts
    moments = gram(centres, counts)
    lowest = np.linalg.eigvalsh((centres.x.T * counts) @ centres.x)[0]
    for floor, status in ((0.5 * lowest, "ok"), (2 * lowest, "repaired")):
        fit = fit_unbiased(prepared("linear"), moments, np.array([floor]))
        assert fit.status.tolist() == [status]
        assert fit.health["not_positive_definite"].tolist() == [False]
    assert fit_unbiased(prepared("linear"), -moments, np.array([1.0])).health["not_positive_definite"].tolist() == [True]
