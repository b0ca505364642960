"""FP: a regression on a sampled summary of a noisy histogram. The law of the summary is tested in tests/privacy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.bins import Binning
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.privacy.ledger import Budget
from dpbench.privacy.replay import Violation


@pytest.fixture
def rows(table):
    """300 rows of four columns and a group of 3, for a model's kind of target."""

    def drawn(target: str = "real", count: int = 300, spread: float = 1.0):
        generator = np.random.default_rng(0)
        x = np.column_stack([spread * generator.uniform(-1, 1, (count, 4)), np.eye(3)[generator.integers(3, size=count)]])
        y = np.clip(np.tanh(x @ [1, -0.5, 0.3, 0.1, 0.4, 0, -0.2]) + 0.4 * generator.normal(size=count), -1, 1)
        return scale(table(x, y, (3,), threshold=0.0), "box", True, target)

    return drawn


@pytest.fixture
def fitted(fit_mechanism):
    return partial(fit_mechanism, "fp")


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "elastic_net", "logistic", "robust"])
def test_with_vanishing_noise_it_is_the_regression_on_the_binned_table(
    model, rows, make, fitted, assert_fit_of_binned_rows
) -> None:
    built = make("model", model)
    train = rows(built.target)
    result = fitted(train, built, 1e13)
    assert_fit_of_binned_rows(result, train, 8, model)
    assert result.fit.notes == {"threshold": 1, "size": 300, "cells": Binning(train.geometry, 8).size}


def test_more_bins_bring_it_to_the_regression_on_the_rows(rows, make, curate, fitted) -> None:
    train, built = rows(), make("model", "linear")
    exact = built.prepare(curate(train)).exact(WholeSample(train)).weights[0]
    errors = [np.abs(train.x @ (fitted(train, built, 1e13, bins=bins)[0].weights[0] - exact)).max() for bins in (2, 8, 64, 5_000)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_the_weights_are_the_fit_of_the_summary(model, rows, make, repeated, fitted) -> None:
    """From the tape, by plain matrices: the weights of the summary add up to n."""
    train, runs, penalty = rows(spread=0.2), 6, 0.01 if model == "ridge" else 0.0
    fit, _, curator = fitted(repeated(train, runs), make("model", model), 2.0, bins=4, size=60)
    binning, mask = Binning(train.geometry, 4), np.r_[0, np.ones(7)]
    for run, summary in enumerate(curator.tape[0].noisy):
        assert 0 < len(summary.counts) <= 60
        centres, weight = binning.centres(summary.index), 300 * summary.counts / summary.counts.sum()
        matrix = (centres.x.T * weight) @ centres.x + 300 * penalty * np.diag(mask)
        expected = np.linalg.lstsq(matrix, centres.x.T @ (weight * centres.y), rcond=None)[0]
        np.testing.assert_allclose(centres.x @ fit.weights[run], centres.x @ expected, rtol=0, atol=1e-8)
    assert len({tuple(weights) for weights in fit.weights}) == runs


def test_an_iterative_fit_gets_weights_that_add_up_to_n(rows, make, curate, repeated, monkeypatch) -> None:
    """A penalty that is relative to the mean loss relies on it."""
    built, train, totals = make("model", "logistic"), rows("binary", spread=0.2), []
    curator = curate(repeated(train, 3), epsilon=2.0)
    problem = built.prepare(curator)
    monkeypatch.setattr(type(problem), "weighted", lambda self, x, y, weight: totals.append(weight.sum()) or np.zeros(8))
    make("mechanism", "fp").fit(curator, problem, Budget(2.0, 1e-6, "pure"))
    assert totals == [pytest.approx(300)] * 3


def test_the_noise_is_geometric_of_two_over_epsilon_and_costs_the_budget(rows, make, fitted) -> None:
    _, _, curator = fitted(rows(), make("model", "linear"), 0.3)
    (answer,) = curator.tape
    assert (answer.noise.law.name, answer.noise.scale.tolist()) == ("geometric", [[2 / 0.3]])
    (entry,) = curator.ledger.entries
    assert (entry.query, entry.sensitivity, entry.noise) == ("histogram", 2.0, "geometric")
    assert curator.ledger.total.epsilon == pytest.approx(0.3)
    assert curator.ledger.sound


def test_threshold_and_size_are_public(rows, make, geometry, fitted) -> None:
    """They follow from n, ε and the bins: other rows occupy other bins and give the same numbers."""
    built = make("model", "linear")
    train = rows()
    z = train.z.copy()
    z[:, 1:5] = 0.5
    crowded = replace(train, z=z)
    for epsilon in (0.05, 1.0, 20.0):
        first, _, one = fitted(train, built, epsilon)
        second, _, other = fitted(crowded, built, epsilon)
        assert first.notes == second.notes
        assert one.tape[0].call.identity == other.tape[0].call.identity
        alpha, bins = np.exp(-epsilon / 2), 4 * 8**5
        assert first.notes["size"] == 300
        smallest = next(theta for theta in range(1, 10**6) if bins * alpha**theta / (1 + alpha) <= 300)
        assert first.notes["threshold"] == smallest


def test_a_run_without_any_bin_predicts_nothing_and_says_so(rows, make, fitted) -> None:
    for model in ("linear", "logistic"):
        built = make("model", model)
        fit, _, _ = fitted(rows(built.target), built, 1.0, threshold=2_000)
        assert (fit.weights == 0).all()
        assert fit.status.tolist() == ["repaired"]


def test_a_run_has_the_same_bits_alone_and_in_a_block(rows, make, curate, repeated, fitted) -> None:
    for model in ("linear", "robust"):
        built = make("model", model)
        train = rows(built.target, spread=0.2)
        together, _, _ = fitted(repeated(train, 3), built, 3.0)
        for run in range(3):
            alone, _, _ = fitted(train, built, 3.0, runs=[(run, 0)])
            np.testing.assert_array_equal(alone.weights[0], together.weights[run])


@pytest.mark.slow
def test_a_domain_too_large_to_enumerate_is_fitted(make, geometry, fitted) -> None:
    """4^301 bins; with vanishing noise, least squares on the binned rows."""
    g = geometry(300, intercept=True)
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (400, 300))
    train = Rows(np.column_stack([np.ones(400), x, np.tanh(x[:, 0])]), g)
    built = make("model", "ridge")
    for epsilon in (1.0, 1e13):
        fit, problem, _ = fitted(train, built, epsilon, bins=4)
        assert np.isfinite(fit.weights).all()
        assert fit.notes["cells"] == pytest.approx(4.0**301)
    binning = Binning(g, 4)
    exact = problem.exact(WholeSample(binning.centres(binning.locate(train)))).weights
    np.testing.assert_allclose(fit.weights, exact, atol=1e-8)


def test_threshold_size_and_number_of_bins_are_on_the_record(cell_record) -> None:
    record = cell_record("fp")
    assert record.metrics["health/size"] == 3_918
    assert record.metrics["health/threshold"] == 33
    assert record.metrics["health/cells"] == pytest.approx(8.0**12)
    assert all(np.isfinite(value) for value in record.metrics.values())


def test_a_threshold_that_lets_too_many_bins_through_is_refused(rows, make, geometry, fitted) -> None:
    built = make("model", "linear")
    assert "dataset.scaling must be box" in make("mechanism", "fp").unsupported(built, geometry(3, scaling="ball"))
    assert make("mechanism", "fp").unsupported(built, geometry(2_000)) is None
    g = geometry(20, intercept=True)
    with pytest.raises(Refused, match=r"mechanism\.threshold=2 of fp lets .* empty bins through\. At most 5,000,000"):
        fitted(Rows(np.zeros((30, 22)), g), built, 1.0, threshold=2)
    for option in ("threshold", "size", "bins"):
        with pytest.raises(Refused, match=f"The '{option}' option of fp must be"):
            make("mechanism", "fp", **{option: 0})


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_its_sensitivity_is_met_by_a_row_that_changes_its_bin_and_never_exceeded(
    model, rows, make, fitted, replay_ratios
) -> None:
    built = make("model", model)
    train = rows(built.target)
    result = fitted(train, built, 1.3, size=50)
    ratios = []
    for row in range(10):
        z = train.z.copy()
        z[row, 1:3] *= -1 if row % 2 else 1 - 1e-9
        ratios += replay_ratios("fp", result, replace(train, z=z), size=50)
    assert max(ratios) == pytest.approx(1.0, rel=1e-12)
    assert min(ratios) == 0
    with pytest.raises(Violation, match="control flow"):
        replay_ratios("fp", result, train, size=51)
