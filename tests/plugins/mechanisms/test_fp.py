"""FP: a regression on a sampled summary of a noisy histogram; its law is tested in tests/privacy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.summaries import record_of
from dpbench.cells.work_unit import Unit, run_unit
from dpbench.data.bins import Binning
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.privacy.curator import Draws
from dpbench.privacy.ledger import Budget
from dpbench.privacy.replay import ReplayCurator, Violation


@pytest.fixture
def rows(table):
    """300 rows of four columns and a group of 3, for a model's kind of target."""

    def drawn(target: str = "real", count: int = 300, spread: float = 1.0):
        generator = np.random.default_rng(0)
        x = np.column_stack([spread * generator.uniform(-1, 1, (count, 4)), np.eye(3)[generator.integers(3, size=count)]])
        y = np.clip(np.tanh(x @ [1, -0.5, 0.3, 0.1, 0.4, 0, -0.2]) + 0.4 * generator.normal(size=count), -1, 1)
        return scale(table(x, y, (3,), threshold=0.0), "box", True, target)

    return drawn


def fitted(make, curate, sample, model, epsilon, **options):
    curator = curate(sample, epsilon=epsilon)
    problem = model.prepare(curator)
    fit = make("mechanism", "fp", **options).fit(curator, problem, Budget(epsilon, 1e-6, "pure"))
    return fit, problem, curator


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "elastic_net", "logistic", "robust"])
def test_with_vanishing_noise_it_is_the_regression_on_the_binned_table(model, rows, make, curate) -> None:
    """Predictions for the binned rows; least absolute deviations may have several minimisers, so there the error is compared."""
    built = make("model", model)
    train = rows(built.target)
    fit, problem, _ = fitted(make, curate, train, built, 1e13)
    grid = Binning(train.geometry, 8)
    binned = grid.centres(grid.locate(train))
    exact = problem.exact(WholeSample(binned)).weights[0]
    if model == "robust":
        errors = [np.abs(binned.y - binned.x @ weights).sum() for weights in (fit.weights[0], exact)]
        assert errors[0] == pytest.approx(errors[1], rel=1e-6)
    else:
        tolerance = 1e-4 if model in ("lasso", "elastic_net") else 1e-6
        np.testing.assert_allclose(binned.x @ fit.weights[0], binned.x @ exact, rtol=0, atol=tolerance)
    assert fit.notes == {"threshold": 1, "size": 300, "cells": grid.size}


def test_more_bins_bring_it_to_the_regression_on_the_rows(rows, make, curate) -> None:
    train, built = rows(), make("model", "linear")
    exact = built.prepare(curate(train)).exact(WholeSample(train)).weights[0]
    errors = [
        np.abs(train.x @ (fitted(make, curate, train, built, 1e13, bins=bins)[0].weights[0] - exact)).max()
        for bins in (2, 8, 64, 5_000)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3


@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_the_weights_are_the_fit_of_the_summary(model, rows, make, curate, repeated) -> None:
    """From the tape, by plain matrices: the summary's weights make n in total."""
    train, runs, penalty = rows(spread=0.2), 6, 0.01 if model == "ridge" else 0.0
    fit, _, curator = fitted(make, curate, repeated(train, runs), make("model", model), 2.0, bins=4, size=60)
    grid, mask = Binning(train.geometry, 4), np.r_[0, np.ones(7)]
    for run, kept in enumerate(curator.tape[0].noisy):
        assert 0 < len(kept.counts) <= 60
        cells, weight = grid.centres(kept.index), 300 * kept.counts / kept.counts.sum()
        matrix = (cells.x.T * weight) @ cells.x + 300 * penalty * np.diag(mask)
        expected = np.linalg.lstsq(matrix, cells.x.T @ (weight * cells.y), rcond=None)[0]
        np.testing.assert_allclose(cells.x @ fit.weights[run], cells.x @ expected, rtol=0, atol=1e-8)
    assert len({tuple(weights) for weights in fit.weights}) == runs


def test_an_iterative_fit_meets_weights_of_n_in_total(rows, make, curate, repeated, monkeypatch) -> None:
    """A model with a penalty beside the mean loss counts on it."""
    built, train, totals = make("model", "logistic"), rows("binary", spread=0.2), []
    curator = curate(repeated(train, 3), epsilon=2.0)
    problem = built.prepare(curator)
    monkeypatch.setattr(type(problem), "weighted", lambda self, x, y, weight: totals.append(weight.sum()) or np.zeros(8))
    make("mechanism", "fp").fit(curator, problem, Budget(2.0, 1e-6, "pure"))
    assert totals == [pytest.approx(300)] * 3


def test_the_noise_is_geometric_of_two_over_epsilon_and_costs_the_budget(rows, make, curate) -> None:
    _, _, curator = fitted(make, curate, rows(), make("model", "linear"), 0.3)
    (answer,) = curator.tape
    assert (answer.noise.law.name, answer.noise.scale.tolist()) == ("geometric", [[2 / 0.3]])
    (entry,) = curator.ledger.entries
    assert (entry.query, entry.sensitivity, entry.noise) == ("histogram", 2.0, "geometric")
    assert curator.ledger.total.epsilon == pytest.approx(0.3)
    assert curator.ledger.sound


def test_threshold_and_size_are_public(rows, make, curate, geometry) -> None:
    """They follow from n, ε and the grid: other rows, other cells in use, the same numbers."""
    built = make("model", "linear")
    train = rows()
    z = train.z.copy()
    z[:, 1:5] = 0.5
    crowded = replace(train, z=z)
    for epsilon in (0.05, 1.0, 20.0):
        first, _, one = fitted(make, curate, train, built, epsilon)
        second, _, other = fitted(make, curate, crowded, built, epsilon)
        assert first.notes == second.notes
        assert one.tape[0].call.identity == other.tape[0].call.identity
        a, cells = np.exp(-epsilon / 2), 4 * 8**5
        assert first.notes["size"] == 300
        least = next(theta for theta in range(1, 10**6) if cells * a**theta / (1 + a) <= 300)
        assert first.notes["threshold"] == least


def test_a_run_without_any_cell_predicts_nothing_and_says_so(rows, make, curate) -> None:
    for model in ("linear", "logistic"):
        built = make("model", model)
        fit, _, _ = fitted(make, curate, rows(built.target), built, 1.0, threshold=2_000)
        assert (fit.weights == 0).all()
        assert fit.status.tolist() == ["repaired"]


def test_same_seed_same_bits_whatever_the_block(rows, make, curate, repeated) -> None:
    for model in ("linear", "robust"):
        built = make("model", model)
        train = rows(built.target, spread=0.2)
        together, _, _ = fitted(make, curate, repeated(train, 3), built, 3.0)
        for run in range(3):
            one = lambda *a, run=run, **k: curate(*a, runs=[(run, 0)], **k)  # noqa: E731
            alone, _, _ = fitted(make, one, train, built, 3.0)
            np.testing.assert_array_equal(alone.weights[0], together.weights[run])


def test_a_domain_too_large_to_enumerate_is_fitted(make, curate, geometry) -> None:
    """4^301 cells; with vanishing noise, least squares on the binned rows."""
    g = geometry(300, intercept=True)
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (400, 300))
    train = Rows(np.column_stack([np.ones(400), x, np.tanh(x[:, 0])]), g)
    built = make("model", "ridge")
    for epsilon in (1.0, 1e13):
        fit, problem, _ = fitted(make, curate, train, built, epsilon, bins=4)
        assert np.isfinite(fit.weights).all()
        assert fit.notes["cells"] == pytest.approx(4.0**301)
    grid = Binning(g, 4)
    exact = problem.exact(WholeSample(grid.centres(grid.locate(train)))).weights
    np.testing.assert_allclose(fit.weights, exact, atol=1e-8)


def test_threshold_size_and_cells_are_on_the_record(make) -> None:
    cell = Cell(
        ComponentChoice("fp", make("mechanism", "fp").options()),
        ComponentChoice("linear", make("model", "linear").options()),
        ComponentChoice("wine", make("dataset", "wine").options()),
        ComponentChoice("none", {}),
        Splits(repeats=1),
        Settings(),
        {},
    )
    record = record_of(cell, run_unit(Unit((cell,), (0,))), {}, {}, "rmse")
    assert record.error == ""
    assert record.metrics["health/size"] == 3_918
    assert record.metrics["health/threshold"] == 33
    assert record.metrics["health/cells"] == pytest.approx(8.0**12)
    assert all(np.isfinite(value) for value in record.metrics.values())


def test_what_it_cannot_hold_is_refused_in_a_sentence(rows, make, curate, geometry) -> None:
    built = make("model", "linear")
    assert "dataset.scaling must be box" in make("mechanism", "fp").unsupported(built, geometry(3, scaling="ball"))
    assert make("mechanism", "fp").unsupported(built, geometry(2_000)) is None
    g = geometry(20, intercept=True)
    with pytest.raises(Refused, match=r"mechanism\.threshold=2 of fp lets .* empty bins through\. At most 5,000,000"):
        fitted(make, curate, Rows(np.zeros((30, 22)), g), built, 1.0, threshold=2)
    for option in ("threshold", "size", "bins"):
        with pytest.raises(Refused, match=f"The '{option}' option of fp must be"):
            make("mechanism", "fp", **{option: 0})


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_its_sensitivity_is_met_by_a_row_that_changes_its_cell_and_never_exceeded(model, rows, make, curate) -> None:
    built = make("model", model)
    train = rows(built.target)
    first, problem, curator = fitted(make, curate, train, built, 1.3, size=50)
    budget, ratios = Budget(1.3, 1e-6, "pure"), []
    for row in range(10):
        z = train.z.copy()
        z[row, 1:3] *= -1 if row % 2 else 1 - 1e-9
        replay = ReplayCurator(WholeSample(replace(train, z=z)), Draws(0, "test", [(0, 0)]), budget, curator.tape)
        again = make("mechanism", "fp", size=50).fit(replay, problem, budget)
        replay.finish()
        np.testing.assert_array_equal(first.weights, again.weights)
        ratios += replay.ratios
    assert max(ratios) == pytest.approx(1.0, rel=1e-12)
    assert min(ratios) == 0
    replay = ReplayCurator(WholeSample(train), Draws(0, "test", [(0, 0)]), budget, curator.tape)
    with pytest.raises(Violation, match="control flow"):
        make("mechanism", "fp", size=51).fit(replay, problem, budget)
