"""BinAgg: its ledger is the budget, its limit is least squares on bins, and the public code's pricing carries no proof."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Gdp
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale


@pytest.fixture
def drawn(table) -> Any:
    """Rows of a linear model with small errors; every row occurs ``times`` times."""

    def rows(n: int = 300, times: int = 1, intercept: bool = True, groups: tuple[int, ...] = (), scaling: Any = "box") -> Rows:
        generator = np.random.default_rng(n)
        x = np.column_stack(
            [generator.uniform(-1, 1, (n, 2)), *(np.eye(size)[generator.integers(size, size=n)] for size in groups)]
        )
        y = np.clip(0.1 + x @ np.linspace(0.5, -0.3, x.shape[1]) + 0.1 * generator.normal(size=n), -1, 1)
        return scale(table(np.repeat(x, times, axis=0), np.repeat(y, times), groups), scaling, intercept, "real")

    return rows


def fitted(make: Any, curate: Any, rows: Rows, epsilon: float = 1.0, runs: int = 1, model: str = "linear", **options: Any) -> Any:
    mechanism = make("mechanism", "binagg", **options)
    curator = curate(WholeSample(*[rows] * runs), epsilon, currency="approx")
    problem = make("model", model, intercept=rows.geometry.intercept).prepare(curator)
    return mechanism.fit(curator, problem, curator.ledger.budget), curator


@pytest.mark.parametrize("scaling", ["box", "corner"])
def test_without_noise_it_is_least_squares_where_every_bin_holds_one_row_twice(scaling, make, curate, drawn) -> None:
    """The limit ε → ∞: bins of at least two rows, which here are equal, so their means lose nothing."""
    rows = drawn(times=16, intercept=scaling == "box", scaling=scaling)
    fit, _ = fitted(make, curate, rows, 1e9)
    np.testing.assert_allclose(fit.weights[0], np.linalg.lstsq(rows.x, rows.y, rcond=None)[0], atol=1e-3)


def test_without_noise_it_is_least_squares_on_the_means_of_its_bins(make, curate, drawn) -> None:
    rows = drawn(n=600)
    fit, curator = fitted(make, curate, rows, 1e9)
    _, sums = curator.tape
    table = sums.exact[0].reshape(-1, rows.z.shape[1])
    table = table[table[:, 0] >= 2]
    assert len(table) > 30
    root = np.sqrt(table[:, :1])
    expected = np.linalg.lstsq(table[:, :-1] / root, table[:, -1] / root[:, 0], rcond=None)[0]
    np.testing.assert_allclose(fit.weights[0], expected, atol=1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_ledger_is_the_budget(epsilon, make, curate, drawn) -> None:
    _, curator = fitted(make, curate, drawn(groups=(3,)), epsilon, runs=2)
    mu = gdp_of_epsilon(epsilon, 1e-6)
    tree, sums = (entry.cost for entry in curator.ledger.entries)
    assert tree.mu == pytest.approx(mu / np.sqrt(28))
    assert sums.mu == pytest.approx(mu * np.sqrt(27 / 28))
    assert curator.ledger.sound
    assert curator.ledger.total.epsilon == pytest.approx(epsilon, rel=1e-9)


def test_the_noise_has_the_published_proportions_and_its_declared_moments(make, curate, drawn) -> None:
    """Over 400 runs: mean 0 and variance 1 after division by the scales (5 standard errors)."""
    rows = drawn()
    _, curator = fitted(make, curate, rows, runs=400)
    releases = [answer for answer in curator.tape if answer.query == "sums in bins"]
    noise = [(answer.noisy[0] - answer.exact[0]) / answer.noise.scale[0] for answer in releases]
    standard = np.concatenate(noise)
    assert abs(standard.mean()) < 5 / np.sqrt(len(standard))
    assert abs(standard.var() - 1) < 5 * np.sqrt(2 / len(standard))
    scales = releases[0].noise.scale[0].reshape(-1, 4)
    np.testing.assert_allclose(scales[:, 3], scales[:, 0])
    assert (scales[:, 1:3] <= scales[:, :1] * np.sqrt(2) * (1 + 1e-12)).all()


def test_the_published_pricing_promises_the_budget_and_says_what_it_costs(make, curate, drawn) -> None:
    """Noise at μ for each column alone, as in the public code: no proof, and the entry names the cost of a replaced row."""
    _, curator = fitted(make, curate, drawn(), calibration="published")
    entry = curator.ledger.entries[1]
    assert entry.cost == Gdp(pytest.approx(gdp_of_epsilon(1.0, 1e-6) * np.sqrt(27 / 28)))
    assert not entry.sound
    assert "cost μ = 0.3" in entry.proof
    assert not curator.ledger.sound


def test_a_penalty_is_part_of_the_objective(make, curate, drawn) -> None:
    rows = drawn(n=2_000)
    plain, _ = fitted(make, curate, rows, 10.0)
    for model in ("ridge", "lasso", "elastic_net"):
        penalised, _ = fitted(make, curate, rows, 10.0, model=model)
        assert np.abs(penalised.weights[0, 1:]).sum() < np.abs(plain.weights[0, 1:]).sum()


def test_the_correction_undoes_attenuation(make, curate, drawn) -> None:
    """Noise in the bins' means pulls weights towards 0, as errors in variables do; subtracting its variance undoes that."""
    rows = drawn(n=2_000, intercept=False)
    exact = np.linalg.lstsq(rows.x, rows.y, rcond=None)[0]
    weights = {rule: fitted(make, curate, rows, 1.0, 40, correction=rule)[0].weights for rule in ("sum", "mean", "none")}
    slope = {rule: float((value.mean(axis=0) @ exact) / (exact @ exact)) for rule, value in weights.items()}
    assert slope["none"] < 0.96
    assert abs(slope["sum"] - 1) < (1 - slope["none"]) / 3
    assert abs(slope["mean"] - slope["none"]) < 0.01


def test_what_it_does_not_fit_is_said(make, geometry) -> None:
    mechanism = make("mechanism", "binagg")
    assert "halves the declared ranges" in mechanism.unsupported(make("model", "linear"), geometry(2, scaling="ball"))
    assert "squared loss" in mechanism.unsupported(make("model", "logistic"), geometry(2, target="binary"))
