"""Whitened descent: its limits, its price, and the scaling that it does not depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.audit.procedure import audit
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.contracts.uncertainty import IntervalRequest
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.privacy.ledger import Budget

SQUARES: dict[str, dict[str, Any]] = {"linear": {}, "ridge": {"penalty": 0.02}, "lasso": {"penalty": 0.02}}


@pytest.fixture
def drawn(table):
    """Rows of 3 skewed columns and a group, which is collinear with an intercept."""

    def rows(target: str = "real", scaling: str = "box", n: int = 400) -> Rows:
        generator = np.random.default_rng(n)
        x = np.column_stack([generator.uniform(-1, 1, (n, 3)) ** 3, np.eye(3)[generator.integers(3, size=n)]])
        y = np.tanh(x @ np.array([1.0, -1, 0, 0.5, 0, -0.5]) + 0.3 * generator.normal(size=n))
        return scale(table(x, y, (3,), threshold=0.1), scaling, True, target)

    return rows


@pytest.mark.parametrize("model", SQUARES)
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_without_noise_it_is_the_exact_fit(model, scaling, drawn, make, fit_mechanism) -> None:
    rows = drawn(scaling=scaling)
    options = SQUARES[model]
    fitted = fit_mechanism("best", rows, make("model", model, **options), 1e16)
    exact = fit_mechanism("no_privacy", rows, make("model", model, **options), 1.0)
    np.testing.assert_allclose(rows.x @ fitted.fit.weights[0], rows.x @ exact.fit.weights[0], rtol=0, atol=1e-5)


def test_logistic_regression_without_noise_is_the_same_algorithm_and_near_the_exact_fit(drawn, make, fit_mechanism) -> None:
    rows, model = drawn("binary"), make("model", "logistic")
    first, second = (fit_mechanism("best", rows, model, 1e16, seed=seed).fit.weights[0] for seed in range(2))
    np.testing.assert_allclose(rows.x @ first, rows.x @ second, rtol=0, atol=1e-4)
    exact = fit_mechanism("no_privacy", rows, model, 1.0).fit.weights[0]

    def loss(weights: np.ndarray) -> float:
        t = rows.x @ weights
        return float(np.mean(np.logaddexp(0, t) - rows.y * t))

    assert loss(exact) < loss(first) < loss(exact) + 0.02 * (np.log(2) - loss(exact))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_the_ledger_s_total_is_the_budget(epsilon, model, drawn, make, fit_mechanism) -> None:
    rows = drawn("binary" if model == "logistic" else "real", n=4_000)
    ledger = fit_mechanism("best", rows, make("model", model), epsilon).curator.ledger
    assert (ledger.total.epsilon, ledger.total.delta) == (pytest.approx(epsilon, rel=1e-9), 1e-6)
    assert ledger.sound
    assert [entry.query for entry in ledger.entries] == ["second_moments", "row_lengths", *["whitened_gradient"] * 6]
    total = sum(entry.bound**2 for entry in ledger.entries)
    assert total == pytest.approx(gdp_of_epsilon(epsilon, 1e-6) ** 2)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_a_table_in_the_box_is_fitted_as_well_as_one_in_the_ball(model, drawn, make, fit_mechanism) -> None:
    """The same rows, the same noise, the same predictions."""
    predictions = []
    for scaling in ("box", "ball"):
        rows = drawn("binary" if model == "logistic" else "real", scaling)
        predictions.append(rows.x @ fit_mechanism("best", rows, make("model", model), 3.0).fit.weights[0])
    np.testing.assert_allclose(*predictions, rtol=0, atol=0.02)  # each scaling rounds the rows of its own


@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_with_few_rows_it_is_dp_gd_or_ssp_and_each_run_decides_for_itself(model, drawn, make, fit_mechanism) -> None:
    """At ε = 3 μ is 0.65: nμ is 26, 65 and 91 at these numbers of rows, and D²/4 = 12.25."""
    tables, model = [drawn(n=n) for n in (40, 100, 140)], make("model", model)
    alone = [fit_mechanism("best", rows, model, 3.0) for rows in tables]
    for fitted, rows, name in zip(alone, tables, ("ssp", "dp_gd"), strict=False):
        np.testing.assert_array_equal(fitted.fit.weights, fit_mechanism(name, rows, model, 3.0).fit.weights)
        assert fitted.curator.ledger.total.epsilon == pytest.approx(3.0, rel=1e-9)
    assert [len(fitted.curator.tape) for fitted in alone] == [1, 25, 8]
    together = fit_mechanism("best", WholeSample(*tables), model, 3.0)
    np.testing.assert_array_equal(together.fit.weights[0], alone[0].fit.weights[0])


def test_where_nothing_is_learned_it_does_no_more_harm_than_ssp(drawn, make, fit_mechanism) -> None:
    rows, model = drawn(n=400), make("model", "linear")
    sample = WholeSample(*[rows] * 20)
    fits = [fit_mechanism(name, sample, model, 0.1).fit.weights for name in ("best", "ssp")]
    np.testing.assert_array_equal(*fits)


@pytest.mark.long
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_an_audit_of_the_whitened_steps_passes(model, make) -> None:
    """The tables of an audit have 8 rows, with which the fit is that of ssp; here they have enough."""
    component = make("model", model)
    settings, budget = AuditSettings(rows=160), Budget(3.0, 1e-6, "approx")
    result = audit(AuditSubject(make("mechanism", "best"), component, budget, example_geometry(component, 2, 3), settings))
    assert result.replays.calls == 8
    assert result.violations == ()
    assert result.replays.ratio == pytest.approx(1.0, abs=0.1)


def test_it_beats_one_release_of_the_moments_on_a_skewed_table(drawn, make, fit_mechanism) -> None:
    """20 runs at ε = 1 on 5,000 rows: the median mean squared error is at least halfway from that of ssp to the exact one."""
    rows, model = drawn(n=5_000), make("model", "linear")
    sample = WholeSample(*[rows] * 20)

    def error(name: str) -> float:
        weights = fit_mechanism(name, sample, model, 1.0).fit.weights
        return float(np.median(np.mean(np.square(rows.y[:, None] - rows.x @ weights.T), axis=0)))

    assert error("best") - error("no_privacy") < (error("ssp") - error("no_privacy")) / 2


def test_with_vanishing_noise_its_intervals_end_at_its_weights(drawn, make, fit_mechanism) -> None:
    fitted = fit_mechanism("best", drawn(n=1_000), make("model", "linear"), 1e16)
    made = fitted.fit.uncertainty.intervals(IntervalRequest(fitted.fit.weights, fitted.problem.n, "iterates", "table"))
    x = drawn(n=1_000).x  # of the collinear group, only predictions are known
    np.testing.assert_allclose([made.low @ x.T, made.high @ x.T], [fitted.fit.weights @ x.T] * 2, rtol=0, atol=2e-3)
