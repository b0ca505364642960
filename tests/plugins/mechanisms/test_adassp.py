"""AdaSSP: its ridge, its two calibrations, and how well it does."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.accounting.conversion import epsilon_of_gdp, gdp_of_epsilon
from dpbench.accounting.costs import Gdp
from dpbench.data.scaling import scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.privacy.queries.second_moments import SecondMoments

DELTA = 1e-6


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "logistic"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_without_noise_it_is_the_exact_fit_of_the_polynomial(model, scaling, drawn, make, fit_mechanism) -> None:
    rows = drawn("binary" if model == "logistic" else "real", scaling)
    for calibration in ("joint", "published"):
        fitted = fit_mechanism("adassp", rows, make("model", model), 1e26, calibration=calibration)
        exact = fit_mechanism("truncated" if model == "logistic" else "no_privacy", rows, make("model", model), 1.0)
        np.testing.assert_allclose(rows.x @ fitted.fit.weights[0], rows.x @ exact.fit.weights[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("calibration", ["joint", "published"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_the_fit_is_the_printed_formula_of_what_was_released(calibration, scaling, drawn, make, fit_mechanism) -> None:
    rows = drawn(scaling=scaling)
    fitted = fit_mechanism("adassp", rows, make("model", "linear"), 3.0, calibration=calibration)
    least, sums = fitted.curator.tape
    S, D, L = 5.0 if scaling == "box" else 1.0, 7, np.log(6 / DELTA)
    sigma = np.sqrt(6.75) / gdp_of_epsilon(3.0, DELTA) if calibration == "joint" else np.sqrt(L)
    query = SecondMoments(rows.geometry, ("xx", "xy"))
    diagonal, sigma_least = float(sums.noise.scale.max()), float(least.noise.noise.scale[0, 0]) / S
    assert diagonal == pytest.approx(S * sigma, rel=1e-12)
    assert sigma_least == pytest.approx(sigma if calibration == "published" else sigma / 1.5, rel=1e-12)
    smallest = max(0.0, float(least.noisy[0, 0]) / S - np.sqrt(L) * sigma_least)
    ridge = max(0.0, diagonal / S * np.sqrt(D * np.log(2 * D**2 / 0.05)) - smallest)
    matrix = query.matrix(sums.noisy, np.array([300.0]))[0] / S + ridge * np.eye(D)
    expected = np.linalg.solve(matrix, query.vector(sums.noisy)[0] / np.sqrt(S)) / np.sqrt(S)
    np.testing.assert_allclose(fitted.fit.weights[0], expected, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_joint_calibration_spends_exactly_the_budget_in_thirds(epsilon, drawn, make, fit_mechanism) -> None:
    ledger = fit_mechanism("adassp", drawn(), make("model", "linear"), epsilon).curator.ledger
    assert (ledger.total.epsilon, ledger.total.delta) == (pytest.approx(epsilon, rel=1e-9), DELTA)
    least, both = (entry.cost for entry in ledger.entries)
    assert isinstance(least, Gdp)
    assert isinstance(both, Gdp)
    assert both.mu**2 == pytest.approx(2 * least.mu**2)
    assert ledger.sound


def test_the_published_noise_is_charged_what_it_costs_and_never_more_than_the_budget(drawn, make, fit_mechanism) -> None:
    """Reference costs from √(16/3)/σ, the joint bound of three releases; the ledger adds up two bounds, 1.5 % more."""
    for epsilon, reference in ((0.1, 0.069), (0.5, 0.386), (1.0, 0.811), (3.0, 2.68), (8.0, 8.17), (10.0, 10.66)):
        sigma = 3 * np.sqrt(np.log(6 / DELTA)) / epsilon
        assert epsilon_of_gdp(np.sqrt(16 / 3) / sigma, DELTA) == pytest.approx(reference, rel=0.01)
        ledger = fit_mechanism("adassp", drawn(), make("model", "linear"), epsilon, calibration="published").curator.ledger
        assert ledger.total.epsilon == pytest.approx(min(reference * 1.018, epsilon), rel=0.01)


def test_a_release_at_an_attaining_pair_spends_its_whole_share(geometry, rows, make, fit_mechanism, replay_ratios) -> None:
    """Unit rows at 60 degrees and opposite targets for the sums; a row that is alone on its axis for the eigenvalue."""
    g = geometry(2, scaling="ball")
    for first, second, at in (([1, 0], [0.5, np.sqrt(0.75)], 1), ([1, 0], [0, 1], 0)):
        tables = [rows(g, np.vstack([[[0, 0], [0, 0]], x]), [0, 0, y]) for x, y in ((first, 1), (second, -1))]
        fitted = fit_mechanism("adassp", tables[0], make("model", "linear", intercept=False), 1.0)
        assert replay_ratios("adassp", fitted, tables[1])[at] == pytest.approx(1.0, rel=1e-12)


def test_on_wine_its_error_at_a_tenth_is_near_that_of_the_reference(make, split) -> None:
    """The ratio of its median rmse to that without privacy is 1.175 in an independent trial; 60 x 5 folds."""
    dataset, model, mechanism = make("dataset", "wine"), make("model", "linear"), make("mechanism", "adassp")
    block = split(scale(dataset.load(np.random.default_rng(0)), "box", True, "real"), range(60), 5)
    curator = Curator(block.train, Draws(0, "t", block.runs), Budget(0.1, DELTA, "approx"))
    problem, moments = model.prepare(curator), block.test.moments

    def median(weights: np.ndarray) -> float:
        errors = moments.yy - 2 * np.einsum("rj,rj->r", moments.xy, weights)
        errors += np.einsum("rj,rjk,rk->r", weights, moments.xx, weights)
        return float(np.median(np.sqrt(errors / moments.n)))

    private, exact = mechanism.fit(curator, problem, curator.ledger.budget), problem.exact(block.train)
    assert median(private.weights) / median(exact.weights) == pytest.approx(1.175, abs=0.015)
