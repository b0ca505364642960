"""dp_gd: without noise it is plain descent, its noise is that of T releases, and no neighbour moves a step by more than 2Γ.

A statistical test here rejects a correct implementation with probability at most 1e-6 over the choice of its seed, which is
fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Gdp
from dpbench.contracts.uncertainty import IntervalRequest
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale

FALSE_ALARM_RATE = 1e-6
SHAPES = [("box", (3,)), ("ball", ()), ("box", ())]


@pytest.fixture
def drawn(table):
    """Rows of a table, and the model of this name for them."""

    def rows(model: str, scaling: str = "box", groups: tuple[int, ...] = (), n: int = 300) -> Rows:
        rng = np.random.default_rng(n)
        x = np.column_stack([rng.uniform(-1, 1, (n, 2)), *(np.eye(size)[rng.integers(size, size=n)] for size in groups)])
        y = np.clip(0.2 + x @ rng.normal(0, 0.4, x.shape[1]) + rng.normal(0, 0.3, n), -1, 1)
        return scale(table(x, y, groups, threshold=0.2), scaling, True, "binary" if model == "logistic" else "real")

    return rows


def loss_gradient(model: str, x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The gradient of each row's loss, written out: (rows, D)."""
    score = x @ w
    slope = {
        "linear": 2 * (score - y),
        "ridge": 2 * (score - y),
        "logistic": 1 / (1 + np.exp(-score)) - y,
        "robust": np.clip(5 * (score - y), -1, 1),
    }[model]
    return np.asarray(slope[:, None] * x)


@pytest.mark.parametrize(("scaling", "groups"), SHAPES, ids=str)
@pytest.mark.parametrize("model", ["linear", "ridge", "logistic", "robust"])
def test_with_vanishing_noise_it_is_clipped_descent(model, scaling, groups, drawn, make, fit_mechanism) -> None:
    rows = drawn(model, scaling, groups)
    clip, beta, steps, step_size = 0.3, 0.6, 7, 1.2
    options = {"clip": clip, "momentum": beta, "steps": steps, "step_size": step_size}
    fitted = fit_mechanism("dp_gd", rows, make("model", model), 1e22, **options)
    x, D = rows.x, rows.x.shape[1]
    S = 1.0 if scaling == "ball" else 3 + len(groups)
    penalty = 0.02 * np.r_[0.0, np.ones(D - 1)] if model == "ridge" else np.zeros(D)
    largest = {"logistic": 0.25, "robust": 5.0}.get(model, 2.0)
    eta = step_size * (1 + beta) / (largest * S)
    w, last = np.zeros(D), np.zeros(D)
    for _ in range(steps):
        gradient = loss_gradient(model, x, rows.y, w)
        lengths = np.linalg.norm(gradient, axis=1, keepdims=True)
        gradient *= np.minimum(1, clip * math.sqrt(S) / np.maximum(lengths, 1e-300))
        w, last = (w - eta * gradient.mean(axis=0) + beta * (w - last)) / (1 + eta * penalty), w
    np.testing.assert_allclose(fitted.fit.weights[0], w, rtol=0, atol=1e-7)


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso", "logistic"])
def test_many_steps_without_noise_or_clipping_reach_the_exact_fit(model, drawn, make, fit_mechanism) -> None:
    rows = drawn(model)
    fitted = fit_mechanism("dp_gd", rows, make("model", model), 1e26, clip=100.0, momentum=0.8, steps=120)
    exact = fitted.problem.exact(fitted.curator._sample).weights
    np.testing.assert_allclose(fitted.fit.weights, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("scaling", "groups"), SHAPES, ids=str)
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_every_step_has_the_noise_of_its_share(model, scaling, groups, drawn, make, fit_mechanism, repeated) -> None:
    """χ² of each coefficient of each step, over 200 runs. False alarm 1e-6."""
    runs, epsilon, clip, steps = 200, 0.8, 0.7, 2
    sample = repeated(drawn(model, scaling, groups, n=30), runs)
    curator = fit_mechanism("dp_gd", sample, make("model", model), epsilon, clip=clip, steps=steps).curator
    S = 1.0 if scaling == "ball" else 3 + len(groups)
    mu = gdp_of_epsilon(epsilon, 1e-6)
    std = 2 * clip * math.sqrt(S) * math.sqrt(steps) / mu
    assert len(curator.tape) == steps
    for answer in curator.tape:
        scores = np.square((answer.noisy - answer.exact) / std).sum(axis=0)
        tail = 2 * np.minimum(stats.chi2.cdf(scores, runs), stats.chi2.sf(scores, runs))
        assert tail.min() > FALSE_ALARM_RATE / (steps * len(scores))


@pytest.mark.parametrize("options", [{}, {"steps": 4, "clip": 0.05}], ids=str)
@pytest.mark.parametrize("model", ["linear", "logistic", "robust"])
def test_the_ledger_is_the_budget(model, options, drawn, make, fit_mechanism) -> None:
    for epsilon in (0.1, 3.0):
        ledger = fit_mechanism("dp_gd", drawn(model), make("model", model), epsilon, **options).curator.ledger
        steps = options.get("steps", 25)
        share = gdp_of_epsilon(epsilon, 1e-6) / math.sqrt(steps)
        assert [entry.cost for entry in ledger.entries] == [Gdp(pytest.approx(share))] * steps
        assert ledger.total.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("scaling", "groups"), SHAPES, ids=str)
@pytest.mark.parametrize("model", ["linear", "logistic", "robust"])
def test_a_replaced_row_moves_a_step_by_two_lengths_and_never_more(
    model, scaling, groups, drawn, make, fit_mechanism, replay_ratios
) -> None:
    """The longest row with one target, then with the other one, meets the bound at w = 0; random rows stay below it."""
    rows, model_made = drawn(model, scaling, groups), make("model", model)
    x = np.zeros(rows.z.shape[1] - 2)
    x[:2] = 1.0 if scaling == "box" else math.sqrt((1 - rows.geometry.constant**2) / 2)
    x[2:3] = 1.0
    rng = np.random.default_rng(1)
    pairs = [(np.r_[1, x, 1.0], np.r_[1, x, 0.0 if model == "logistic" else -1.0])]
    pairs += [tuple(rows.z[rng.integers(rows.n, size=2)]) for _ in range(20)]
    ratios = []
    for pair in pairs:
        first, second = (Rows(np.vstack([rows.z[1:], row]), rows.geometry) for row in pair)
        fitted = fit_mechanism("dp_gd", first, model_made, 1.0, steps=3)
        ratios.append(max(replay_ratios("dp_gd", fitted, second, steps=3)))
    assert ratios[0] == pytest.approx(1.0, abs=1e-6)
    assert max(ratios) <= 1 + 1e-12


def test_the_rules_depend_on_public_facts_alone(drawn, make, fit_mechanism) -> None:
    """Γ and the number of calls, read off the ledger: the same for any rows of one size."""

    def clips(model: str, n: int, epsilon: float) -> list[float]:
        rows = drawn(model, n=n)
        others = Rows(np.where(np.arange(4) == 3, 0.0, rows.z), rows.geometry)
        found = []
        for table in (rows, others):
            entry = fit_mechanism("dp_gd", table, make("model", model), epsilon, steps=2).curator.ledger.entries[0]
            found.append(entry.sensitivity / (2 * math.sqrt(3)))
        return found

    signal = 3_000 * gdp_of_epsilon(0.3, 1e-6) / math.sqrt(3)
    assert clips("linear", 3_000, 0.3) == pytest.approx([2 * math.sqrt(signal / 1500)] * 2)
    assert clips("linear", 30, 0.1) == pytest.approx([0.2, 0.2])
    assert clips("linear", 3_000, 1e4) == pytest.approx([2.0, 2.0])
    assert clips("logistic", 300, 0.3) == clips("robust", 30, 3.0) == pytest.approx([0.5, 0.5])


def test_with_vanishing_noise_its_intervals_end_at_least_squares(drawn, make, fit_mechanism) -> None:
    fitted = fit_mechanism("dp_gd", drawn("linear"), make("model", "linear"), 1e22)
    exact = fitted.problem.exact(WholeSample(drawn("linear"))).weights
    made = fitted.fit.uncertainty.intervals(IntervalRequest(fitted.fit.weights, fitted.problem.n, "iterates", "table"))
    np.testing.assert_allclose([made.low, made.high], [exact, exact], rtol=0, atol=1e-5)


@pytest.mark.parametrize("which", ["rare", "counts"])
def test_more_budget_is_never_worse(which, assert_more_budget_is_never_worse) -> None:
    """Ten runs of a fixed seed at four ε; the medians have standard errors below 0.05 where ε >= 1."""
    assert_more_budget_is_never_worse("dp_gd", which)


@pytest.mark.parametrize(("momentum", "diverging"), [(0.95, True), ("auto", False)])
def test_a_descent_that_circles_around_the_minimum_is_flagged(momentum, diverging, made_up_tables, make, fit_mechanism) -> None:
    """Nearly all rows' gradients point alike and are clipped, so that a large fixed momentum never comes to rest."""
    rows = made_up_tables["counts"]
    fit = fit_mechanism("dp_gd", rows, make("model", "linear"), 10.0, momentum=momentum).fit
    assert fit.health["diverging"].tolist() == [diverging]
