"""Boosting on clipped residuals: its limit, its price, and what a replaced row moves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.contracts.uncertainty import IntervalRequest
from dpbench.data.scaling import Rows, scale


@pytest.fixture
def drawn(table):
    """Rows of 3 columns and a group, which is collinear with an intercept."""

    def rows(scaling: str = "box", n: int = 300) -> Rows:
        generator = np.random.default_rng(n)
        x = np.column_stack([generator.uniform(-1, 1, (n, 3)), np.eye(3)[generator.integers(3, size=n)]])
        y = np.tanh(x @ np.array([1.0, -1, 0, 0.5, 0, -0.5]) + 0.2 * generator.normal(size=n))
        return scale(table(x, y, (3,)), scaling, True, "real")

    return rows


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_without_noise_it_is_the_exact_fit(model, scaling, drawn, make, fit_mechanism) -> None:
    """With residuals that are clipped nowhere: the first round is already least squares."""
    rows = drawn(scaling)
    fitted = fit_mechanism("boosted_adassp", rows, make("model", model), 1e24, rounds=3, clip=5.0)
    exact = fit_mechanism("no_privacy", rows, make("model", model), 1.0)
    np.testing.assert_allclose(rows.x @ fitted.fit.weights[0], rows.x @ exact.fit.weights[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_ledger_s_total_is_the_budget_in_thirds(epsilon, drawn, make, fit_mechanism) -> None:
    ledger = fit_mechanism("boosted_adassp", drawn(), make("model", "linear"), epsilon, rounds=4).curator.ledger
    assert (ledger.total.epsilon, ledger.total.delta) == (pytest.approx(epsilon, rel=1e-9), 1e-6)
    assert ledger.sound
    third = gdp_of_epsilon(epsilon, 1e-6) ** 2 / 3
    assert [entry.cost.mu**2 for entry in ledger.entries] == pytest.approx([third, third, *[third / 4] * 4])


def test_the_noise_of_all_rounds_is_what_the_public_program_lacks(drawn, make, fit_mechanism) -> None:
    """In the unit ball at (1, 1e-6): a round's deviation is 2 √(3T)/μ for a replaced row. The program has μ = .237 itself."""
    rows = drawn()
    curator = fit_mechanism("boosted_adassp", rows, make("model", "linear"), 1.0, rounds=20).curator
    mu = gdp_of_epsilon(1.0, 1e-6)
    deviation = 2 * math.sqrt(rows.geometry.squared_norm) * math.sqrt(3 * 20) / mu
    for answer in curator.tape[2:]:
        assert answer.noise.scale == pytest.approx(deviation)
    drawn_noise = np.concatenate([(answer.noisy - answer.exact)[0] / deviation for answer in curator.tape[2:]])
    assert abs(np.mean(drawn_noise**2) - 1) < 5 * math.sqrt(2 / drawn_noise.size)


def test_opposite_residuals_of_one_row_spend_a_round_s_whole_budget(geometry, rows, make, fit_mechanism, replay_ratios) -> None:
    g = geometry(4)
    tables = [rows(g, np.vstack([np.zeros((2, 4)), np.ones(4)]), [0.5, 0, y]) for y in (1, -1)]
    fitted = fit_mechanism("boosted_adassp", tables[0], make("model", "linear", intercept=False), 1.0, rounds=1)
    ratios = replay_ratios("boosted_adassp", fitted, tables[1], rounds=1)
    assert ratios == [0.0, 0.0, pytest.approx(1.0, rel=1e-12)]


def test_intervals_of_nearly_collinear_columns_cover_the_fit_to_the_same_rows(table, make, fit_mechanism) -> None:
    """Of 60 fits, at least 52 for either slope: fewer have a chance below 1 % where 95 % are covered."""
    generator = np.random.default_rng(4)
    first = generator.uniform(-1, 1, 4_000)
    x = np.column_stack([first, np.clip(first + 0.05 * generator.standard_normal(4_000), -1, 1)])
    y = np.clip(0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.1 * generator.standard_normal(4_000), -1, 1)
    rows = scale(table(x, y), "box", True, "real")
    exact = np.linalg.lstsq(rows.x, rows.y, rcond=None)[0]
    inside = []
    for seed in range(60):
        fitted = fit_mechanism("boosted_adassp", rows, make("model", "linear"), 3.0, seed=seed)
        request = IntervalRequest(fitted.fit.weights, fitted.problem.n, fitted.fit.uncertainty.methods[0], "table")
        intervals = fitted.fit.uncertainty.intervals(request)
        inside.append((intervals.low[0] <= exact) & (intervals.high[0] >= exact))
    assert np.sum(inside, axis=0)[1:].min() >= 52
