"""DPME: a regression on a noisy histogram of all bins."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from dpbench.base.errors import Refused
from dpbench.data.bins import Binning
from dpbench.data.scaling import Rows, scale
from dpbench.privacy.ledger import Budget
from dpbench.privacy.replay import Violation

FALSE_ALARM_RATE = 1e-6


@pytest.fixture
def rows(table):
    """200 rows of three columns (one of 3 levels) and a group of 3, for a model's kind of target."""

    def drawn(target: str = "real", intercept: bool = True):
        generator = np.random.default_rng(0)
        x = np.column_stack(
            [generator.uniform(-1, 1, (200, 2)), generator.integers(-1, 2, 200), np.eye(3)[generator.integers(3, size=200)]]
        )
        y = np.clip(np.tanh(x @ [1, -0.5, 0.3, 0.4, 0, -0.2]) + 0.4 * generator.normal(size=200), -1, 1)
        scaled = scale(table(x, y, (3,), threshold=0.0), "box", intercept, target)
        return replace(scaled, geometry=replace(scaled.geometry, levels=(0, 0, 3, 2, 2, 2)))

    return drawn


@pytest.fixture
def fitted(fit_mechanism):
    return partial(fit_mechanism, "dpme")


@pytest.mark.parametrize(
    ("bandwidth", "n", "attributes", "expected"),
    [("lei", 370_000, 5, 28), ("lei", 370_000, 14, 5), ("lei", 190_000, 11, 6), ("d+1", 370_000, 5, 7), ("d+1", 370_000, 14, 3)],
)
def test_the_bandwidth_is_the_published_one(bandwidth, n, attributes, expected, make, geometry) -> None:
    """D' counts the target, and a one-hot group once."""
    mechanism = make("mechanism", "dpme", bandwidth=bandwidth)
    assert mechanism.bins(geometry(attributes - 1), n) == expected
    assert mechanism.bins(geometry(attributes - 3, (4, 5), True), n) == expected


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "elastic_net", "logistic", "robust"])
@pytest.mark.parametrize("counts", ["clip", "threshold", "raw"])
def test_with_vanishing_noise_it_is_the_regression_on_the_binned_table(
    counts, model, rows, make, fitted, assert_fit_of_binned_rows
) -> None:
    built = make("model", model)
    mechanism = make("mechanism", "dpme", counts=counts, bandwidth=4)
    train = rows(built.target)
    if counts == "raw" and model in ("logistic", "robust"):
        assert "counts=raw leaves negative weights" in mechanism.unsupported(built, train.geometry)
        return
    assert mechanism.unsupported(built, train.geometry) is None
    result = fitted(train, built, 1e13, counts=counts, bandwidth=4)
    assert_fit_of_binned_rows(result, train, 4, model)
    assert result.fit.notes == {"bins": 4, "cells": 4 * 4 * 3 * 4 * Binning(train.geometry, 4).shape[-1]}


@pytest.mark.parametrize("model", ["linear", "ridge"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("counts", ["clip", "threshold", "raw"])
def test_the_weights_are_the_fit_of_the_noisy_counts(counts, intercept, model, rows, make, repeated, fitted) -> None:
    """From the counts on the tape, by plain matrices: clipped and thresholded counts add up to n, raw counts are not rescaled."""
    train, epsilon, runs, penalty = rows(intercept=intercept), 0.7, 8, 0.01 if model == "ridge" else 0.0
    built = make("model", model, intercept=intercept)
    fit, _, curator = fitted(repeated(train, runs), built, epsilon, counts=counts, bandwidth=3)
    binning = Binning(train.geometry, 3)
    centres = binning.centres(np.arange(binning.size)[:, None])
    x, y, D = centres.x, centres.y, train.geometry.dimension
    mask = np.r_[np.zeros(int(intercept)), np.ones(D - intercept)]
    # the largest noise of an entry of X'NX outside the diagonal: 2 b² times the sum of (x_j x_k)² over the bins
    spread = np.sqrt(2 * (2 / epsilon) ** 2 * ((x**2).T @ (x**2) * (1 - np.eye(D))).max())
    for run in range(runs):
        noisy = np.concatenate([counts for _, counts in curator.tape[0].noisy.blocks(run)])
        if counts == "raw":
            values, vectors = np.linalg.eigh((x.T * noisy) @ x + 200 * penalty * np.diag(mask))
            floored = np.maximum(values, 2 * spread * np.sqrt(D))
            expected = vectors @ ((vectors.T @ (x.T @ (noisy * y))) / floored)
            assert (fit.status[run] == "repaired") == (values[0] < 2 * spread * np.sqrt(D))
        else:
            least = 0 if counts == "clip" else np.log(200) / epsilon
            weight = np.where(noisy >= least, noisy, 0)
            weight *= 200 / weight.sum()
            expected = np.linalg.lstsq((x.T * weight) @ x + 200 * penalty * np.diag(mask), x.T @ (weight * y), rcond=None)[0]
        np.testing.assert_allclose(centres.x @ fit.weights[run], centres.x @ expected, rtol=0, atol=1e-8)
    assert (fit.weights[0] != fit.weights[1]).all(), "every run has fresh noise"


def test_clipping_leaves_a_pseudo_row_over_epsilon_in_every_empty_bin(rows, make, fitted) -> None:
    """E max(Lap(2/ε), 0) = 1/ε, over 10⁵ empty bins. False alarm 1e-6."""
    train, epsilon = rows(), 0.25
    _, _, curator = fitted(train, make("model", "linear"), epsilon, bandwidth=20)
    binning = Binning(train.geometry, 20)
    counts = np.concatenate([counts for _, counts in curator.tape[0].noisy.blocks(0)])
    empty = np.maximum(np.delete(counts, binning.locate(train)[:, 0]), 0)
    assert len(empty) > 90_000
    deviation = np.sqrt(3) / epsilon  # E of the square is (2/ε)², minus 1/ε²
    assert abs(empty.mean() - 1 / epsilon) < stats.norm.isf(FALSE_ALARM_RATE / 4) * deviation / np.sqrt(len(empty))


def test_the_noise_is_laplace_of_two_over_epsilon_and_costs_the_budget(rows, make, fitted) -> None:
    _, _, curator = fitted(rows(), make("model", "linear"), 0.3, bandwidth=3)
    (answer,) = curator.tape
    assert (answer.noise.law.name, answer.noise.scale.tolist()) == ("laplace", [[2 / 0.3]])
    assert curator.ledger.total.epsilon == pytest.approx(0.3)
    assert curator.ledger.sound


def test_a_run_without_any_positive_count_predicts_nothing_and_says_so(rows, make, fitted) -> None:
    """No count reaches a threshold of log(200)/ε = 10⁶ rows."""
    for model in ("linear", "logistic"):
        built = make("model", model)
        epsilon = np.log(200) / 1e6
        options = {"counts": "threshold", "bandwidth": 2}
        fits = [fitted(rows(built.target), built, epsilon, seed=seed, **options).fit for seed in range(40)]
        empty = [fit for fit in fits if (fit.weights == 0).all()]
        assert empty, "the test needs an empty run"
        assert all(fit.status.tolist() == ["repaired"] for fit in empty)
        assert all(np.isfinite(fit.weights).all() for fit in fits)


def test_a_run_has_the_same_bits_alone_and_in_a_block(rows, make, curate, repeated, fitted) -> None:
    train = rows()
    for model in ("linear", "robust"):
        built = make("model", model)
        together, _, _ = fitted(repeated(train, 3), built, 1.0, bandwidth=3)
        again, _, _ = fitted(repeated(train, 3), built, 1.0, bandwidth=3)
        np.testing.assert_array_equal(together.weights, again.weights)
        for run in range(3):
            alone, _, _ = fitted(train, built, 1.0, bandwidth=3, runs=[(run, 0)])
            np.testing.assert_array_equal(alone.weights[0], together.weights[run])


def test_too_many_bins_are_made_coarser_and_their_number_is_recorded(cell_record) -> None:
    """The wines have 12 axes: 3 bins each by Lei's rule, and 2 if 500,000 bins are allowed. Both are on the record."""
    for limit, bins in ((1_000_000, 3), (500_000, 2)):
        record = cell_record("dpme", cells=limit)
        assert record.metrics["health/bins"] == bins
        assert record.metrics["health/cells"] == bins**12
        assert record.metrics["privacy/epsilon_accounted"] == pytest.approx(1.0)
        assert all(np.isfinite(value) for value in record.metrics.values())


def test_tables_without_bins_are_pruned_with_a_sentence(make, geometry) -> None:
    mechanism, model = make("mechanism", "dpme"), make("model", "linear")
    assert "dataset.scaling must be box" in mechanism.unsupported(model, geometry(3, scaling="ball"))
    assert "make 2,097,152 bins, above mechanism.cells=1,000,000" in mechanism.unsupported(model, geometry(20))
    assert "more than 10^361 bins" in mechanism.unsupported(model, geometry(1_200))
    assert mechanism.unsupported(model, geometry(18)) is None
    for option, value in (("bandwidth", 1), ("bandwidth", "d"), ("counts", "none"), ("cells", 3)):
        with pytest.raises(Refused, match=f"The '{option}' option of dpme must be"):
            make("mechanism", "dpme", **{option: value})


def test_the_bins_of_all_runs_are_never_in_memory_together(make, curate, geometry, rows, repeated) -> None:
    """10⁶ bins of 4 runs are 32 MB; blocks of 262,144 take a quarter of that with their products."""
    g = geometry(5)
    generator = np.random.default_rng(0)
    sample = repeated(Rows(np.column_stack([np.ones(50), generator.uniform(-1, 1, (50, 6))]), g), 4)
    curator = curate(sample)
    curator.tape = None
    problem = make("model", "linear", intercept=False).prepare(curator)
    tracemalloc.start()
    fit = make("mechanism", "dpme", bandwidth=10).fit(curator, problem, Budget(1.0, 1e-6, "pure"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fit.notes["cells"] == 1_000_000
    assert peak < 12e6


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_its_sensitivity_is_met_by_a_row_that_changes_its_bin_and_never_exceeded(
    model, rows, make, fitted, replay_ratios
) -> None:
    built = make("model", model)
    train = rows(built.target)
    result = fitted(train, built, 1.3, bandwidth=3)
    ratios = []
    for row in range(10):
        z = train.z.copy()
        z[row, 1:3] *= -1
        z[row, 1:3] += 1e-3 * row
        neighbour = replace(train, z=np.clip(z, -1, 1))
        ratios += replay_ratios("dpme", result, neighbour, bandwidth=3)
    assert max(ratios) == pytest.approx(1.0, rel=1e-12)
    with pytest.raises(Violation, match="control flow"):
        replay_ratios("dpme", result, train, bandwidth=4)
