"""frank_wolfe: without noise it is the Frank-Wolfe method, within the radius, and no neighbour moves a score's range further."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.accounting.conversion import zcdp_of_epsilon
from dpbench.accounting.costs import Zcdp
from dpbench.data.scaling import Rows, scale


@pytest.fixture
def drawn(table):
    """Rows whose target depends on two of four columns."""

    def rows(model: str = "linear", scaling: str = "box", groups: tuple[int, ...] = (), intercept: bool = True) -> Rows:
        rng = np.random.default_rng(0)
        x = np.column_stack([rng.uniform(-1, 1, (300, 4)), *(np.eye(size)[rng.integers(size, size=300)] for size in groups)])
        y = np.clip(0.6 * x[:, 0] - 0.3 * x[:, 1] + rng.normal(0, 0.2, 300), -1, 1)
        binary = model == "logistic"
        return scale(table(x, y, groups, threshold=0.0), scaling, intercept, "binary" if binary else "real")

    return rows


@pytest.mark.parametrize(("scaling", "groups", "unit"), [("box", (3,), 1.0), ("ball", (), math.sqrt(5)), ("corner", (), 2.0)])
@pytest.mark.parametrize("model", ["linear", "logistic", "robust"])
def test_with_vanishing_noise_it_takes_the_steepest_vertex(model, scaling, groups, unit, drawn, make, fit_mechanism) -> None:
    intercept = scaling != "corner"
    rows, steps, C = drawn(model, scaling, groups, intercept), 6, 0.8 * unit
    fitted = fit_mechanism("frank_wolfe", rows, make("model", model, intercept=intercept), 1e20, radius=0.8, steps=steps)
    x, w = rows.x, np.zeros(rows.x.shape[1])
    for t in range(steps):
        score = x @ w
        slope = {
            "linear": np.clip(2 * (score - rows.y), -2, 2),
            "logistic": 1 / (1 + np.exp(-score)) - rows.y,
            "robust": np.clip(5 * (score - rows.y), -1, 1),
        }[model]
        gradient = slope @ x
        steepest = int(np.abs(gradient).argmax())
        w = w + 2 / (t + 2) * (-C * np.sign(gradient[steepest]) * np.eye(len(w))[steepest] - w)
    np.testing.assert_allclose(fitted.fit.weights[0], w, atol=1e-9)
    assert np.abs(fitted.fit.weights).sum() <= C * (1 + 1e-12)


def test_at_the_radius_of_a_lasso_s_own_fit_many_steps_reach_that_fit(drawn, make, fit_mechanism) -> None:
    rows, model = drawn(intercept=False), make("model", "lasso", penalty=0.1, intercept=False)
    problem = fit_mechanism("frank_wolfe", rows, model, 1.0, steps=1)
    lasso = problem.problem.exact(problem.curator._sample).weights[0]
    assert 0 < np.abs(lasso).sum() < 1
    fitted = fit_mechanism("frank_wolfe", rows, model, 1e20, radius=float(np.abs(lasso).sum()), steps=60)
    np.testing.assert_allclose(fitted.fit.weights[0], lasso, atol=0.02)


def test_noise_makes_the_choice_random_and_weights_stay_within_the_radius(drawn, make, fit_mechanism, repeated) -> None:
    runs = 200
    fitted = fit_mechanism("frank_wolfe", repeated(drawn(), runs), make("model", "linear"), 0.01, steps=3, radius=2.0)
    first = fitted.curator.tape[0].noisy[:, 0]
    assert set(first) == set(range(10))  # one of 10 vertices is missed with a probability below 1e-6
    assert np.abs(fitted.fit.weights).sum(axis=1).max() <= 2 * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_the_ledger_is_the_budget(epsilon, drawn, make, fit_mechanism) -> None:
    ledger = fit_mechanism("frank_wolfe", drawn(), make("model", "lasso"), epsilon, steps=8).curator.ledger
    assert [entry.cost for entry in ledger.entries] == [Zcdp(pytest.approx(zcdp_of_epsilon(epsilon, 1e-6) / 8))] * 8
    assert ledger.total.epsilon == pytest.approx(epsilon, rel=1e-8)


@pytest.mark.parametrize("scaling", ["box", "corner"])
@pytest.mark.parametrize("model", ["linear", "logistic", "robust"])
def test_opposite_slopes_of_one_row_meet_the_bound_and_nothing_exceeds_it(
    model, scaling, drawn, geometry, make, fit_mechanism, replay_ratios
) -> None:
    """A binary target moves slopes by 1 in all, half of what the bound allows for slopes of either sign."""
    intercept = scaling == "box"
    rows = drawn(model, scaling, (), intercept)
    rng, made = np.random.default_rng(1), make("model", model, intercept=intercept)
    largest = np.full(4, 1.0 if scaling == "box" else 0.5)
    pairs = [(np.r_[1, largest, 1.0], np.r_[1, largest, 0.0 if model == "logistic" else -1.0])]
    pairs += [tuple(rows.z[rng.integers(rows.n, size=2)]) for _ in range(20)]
    ratios = []
    for pair in pairs:
        first, second = (Rows(np.vstack([rows.z[1:40], row]), rows.geometry) for row in pair)
        fitted = fit_mechanism("frank_wolfe", first, made, 1.0, steps=2)
        ratios.append(replay_ratios("frank_wolfe", fitted, second, steps=2))
    assert ratios[0][0] == pytest.approx(0.5 if model == "logistic" else 1.0)
    assert np.max(ratios) <= 1 + 1e-12
