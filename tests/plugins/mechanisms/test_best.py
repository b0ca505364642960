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
from dpbench.plugins.mechanisms._whitened_gradient import Axes
from dpbench.plugins.mechanisms.best import Descent
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
    first, second = (fit_mechanism("best", rows, model, 1e17, seed=seed).fit.weights[0] for seed in range(2))
    scores = rows.x @ first  # from about -14 to 14: the classes are nearly separable
    np.testing.assert_allclose(scores, rows.x @ second, rtol=0, atol=1e-5 * np.abs(scores).max())
    exact = fit_mechanism("no_privacy", rows, model, 1.0).fit.weights[0]

    def loss(weights: np.ndarray) -> float:
        t = rows.x @ weights
        return float(np.mean(np.logaddexp(0, t) - rows.y * t))

    assert loss(exact) < loss(first) < loss(exact) + 0.02 * (np.log(2) - loss(exact))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_the_ledger_s_total_is_the_budget(epsilon, model, drawn, make, fit_mechanism) -> None:
    """Of the fits at these ε, the first takes 6 steps, the others 10; for two classes with so few rows it is dp_newton's."""
    rows = drawn("binary" if model == "logistic" else "real", n=40_000 if model == "logistic" else 4_000)
    ledger = fit_mechanism("best", rows, make("model", model), epsilon).curator.ledger
    assert (ledger.total.epsilon, ledger.total.delta) == (pytest.approx(epsilon, rel=1e-9), 1e-6)
    assert ledger.sound
    asked = [entry.query for entry in ledger.entries]
    steps = asked.count("whitened_gradient")
    assert steps == (6 if epsilon == 0.1 else 10)
    last = ["squared_residuals"] if model == "linear" else []
    assert asked == ["second_moments", "row_lengths", *["whitened_gradient"] * steps, *last]
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


@pytest.mark.parametrize(
    ("model", "plain", "calls"), [("linear", "dp_gd", 9), ("ridge", "dp_gd", 8), ("logistic", "dp_newton", 8)]
)
def test_with_few_rows_it_is_a_plainer_mechanism_and_each_run_decides_for_itself(
    model, plain, calls, drawn, make, fit_mechanism
) -> None:
    """At ε = 3 μ is 0.65, so that nμ is 26, 65 and 91 at these numbers of rows, and 169 for two classes; D²/4 = 12.25."""
    two_classes = model == "logistic"
    numbers = (40, 100, 260 if two_classes else 140)
    tables, model = [drawn("binary" if two_classes else "real", n=n) for n in numbers], make("model", model)
    alone = [fit_mechanism("best", rows, model, 3.0) for rows in tables]
    for fitted, rows, name in zip(alone, tables, ("ssp", plain), strict=False):
        np.testing.assert_array_equal(fitted.fit.weights, fit_mechanism(name, rows, model, 3.0).fit.weights)
        assert fitted.curator.ledger.total.epsilon == pytest.approx(3.0, rel=1e-9)
    of_plain = len(fit_mechanism(plain, tables[1], model, 3.0).curator.tape)
    assert [len(fitted.curator.tape) for fitted in alone] == [1, of_plain, calls]
    together = fit_mechanism("best", WholeSample(*tables), model, 3.0)
    assert together.fit.health["diverging"].tolist() == [bool(each.fit.health.get("diverging", [0])[0]) for each in alone]
    np.testing.assert_array_equal(together.fit.weights[0], alone[0].fit.weights[0])


def test_where_nothing_is_learned_it_does_no_more_harm_than_ssp(drawn, make, fit_mechanism) -> None:
    rows, model = drawn(n=400), make("model", "linear")
    sample = WholeSample(*[rows] * 20)
    fits = [fit_mechanism(name, sample, model, 0.1).fit.weights for name in ("best", "ssp")]
    np.testing.assert_array_equal(*fits)


@pytest.mark.long
@pytest.mark.parametrize(("model", "calls"), [("linear", 13), ("logistic", 8)])
def test_an_audit_of_the_whitened_steps_passes(model, calls, make) -> None:
    """The tables of an audit have 8 rows, with which the fit is that of ssp; here they have enough."""
    component = make("model", model)
    settings, budget = AuditSettings(rows=300), Budget(3.0, 1e-6, "approx")
    result = audit(AuditSubject(make("mechanism", "best"), component, budget, example_geometry(component, 2, 3), settings))
    assert result.replays.calls == calls
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
    made = fitted.fit.uncertainty.intervals(IntervalRequest(fitted.fit.weights, fitted.problem.n, "covariance", "table"))
    x = drawn(n=1_000).x  # of the collinear group, only predictions are known
    np.testing.assert_array_equal(made.centre, fitted.fit.weights)
    assert np.abs(np.einsum("nj,jk,nk->n", x, made.covariance[0], x)).max() < 1e-6


def test_no_step_meets_more_curvature_than_momentum_allows() -> None:
    """Whatever X'X is, as long as it exceeds the released matrix by no more than the largest eigenvalue of the noise."""
    generator = np.random.default_rng(3)
    released = np.sort(np.concatenate([generator.uniform(-3, 3, (200, 6)), 10.0 ** generator.uniform(-3, 6, (200, 6))]))
    axes = Axes(released, np.tile(np.eye(6), (400, 1, 1)), 1.0)
    met = axes.steps(2.9) * (np.maximum(released, 0.0) + axes.of_noise) / axes.raised
    assert met.max() == pytest.approx(2.9)
    assert ((axes.steps(2.9) <= 1) & (axes.steps(2.9) > 0)).all()


def test_the_mean_of_the_steps_has_the_variance_that_it_says() -> None:
    """8,000 descents with drawn noise of X'X and of each gradient: squared errors over their variances have the mean 1.

    Variances are those of noise that does not know the weights of the mean, so within 15 %; with half of any of the noises the
    ratio is below .7.
    """
    generator, runs, size, std = np.random.default_rng(4), 8_000, 4, 30.0
    released = np.tile([400.0, 900.0, 2_000.0, 5_000.0], (runs, 1))
    axes = Axes(released, np.tile(np.eye(size), (runs, 1, 1)), std)
    assert (axes.raised == released).all()
    noise = generator.normal(0, std, (runs, size, size))
    symmetric = np.triu(noise, 1) + np.swapaxes(np.triu(noise, 1), 1, 2) + np.sqrt(2) * noise * np.eye(size)
    error = symmetric / np.sqrt(released[:, :, None] * released[:, None, :])
    truth = generator.normal(0, 3, (runs, size))
    place, places, gradients = np.zeros((runs, size)), [], []
    for _ in range(6):
        away = truth - place
        gradient = away - np.einsum("rij,rj->ri", error, away) + generator.normal(0, 0.2, (runs, size))
        places.append(place)
        gradients.append(gradient)
        place = place + gradient
    descent = Descent(np.stack(places, 1), np.stack(gradients, 1), np.full((runs, 6), 0.2), np.zeros((runs, 6)))
    centre, variances = descent.minimum(axes)
    ratio = (np.square(centre - truth) / variances).mean(axis=0)
    assert ratio == pytest.approx(1.0, abs=0.15)


def test_more_budget_does_not_make_rare_events_worse(table, make, fit_mechanism) -> None:
    """2 % are positive, most of them in the 4 % of rows with a rare feature, along which the curvature is near its largest.

    Of 20 runs on 25,000 rows the loss that is left, as a share of the way from the mean predictor to the exact fit, has a
    median that falls with ε, and none of them loses everything.
    """
    generator, n = np.random.default_rng(0), 25_000
    severe, belt = generator.random(n) < 0.04, generator.random(n) < 0.7
    age = generator.uniform(-1, 1, n)
    positive = generator.random(n) < 1 / (1 + np.exp(4.3 - 3.6 * severe + belt - 0.8 * age))
    x = np.column_stack([2.0 * severe - 1, 2.0 * belt - 1, age])
    rows, model = scale(table(x, 2.0 * positive - 1, threshold=0.0), "box", True, "binary"), make("model", "logistic")

    def loss(weights: np.ndarray) -> float:
        scores = rows.x @ weights
        return float(np.mean(np.logaddexp(0, scores) - rows.y * scores))

    rate = float(rows.y.mean())
    nothing = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    least = loss(fit_mechanism("no_privacy", rows, model, 1.0).fit.weights[0])
    lost = {
        epsilon: [
            (loss(weights) - least) / (nothing - least)
            for weights in fit_mechanism("best", WholeSample(*[rows] * 20), model, epsilon).fit.weights
        ]
        for epsilon in (1.0, 3.0, 10.0)
    }
    medians = [float(np.median(values)) for values in lost.values()]
    assert medians == sorted(medians, reverse=True)
    assert max(max(values) for values in lost.values()) < 1


@pytest.mark.parametrize("spread", [0.1, 0.2, 0.3])
def test_no_run_explodes_where_eigenvalues_are_as_large_as_the_noise(spread, table, make, fit_mechanism) -> None:
    """Ten columns that are nearly the same have nine small eigenvalues, and at some ε these are just above the floor.

    There a step that trusts the floor diverges: errors were up to 800 times those of the mean predictor.
    """
    generator, n = np.random.default_rng(1), 4_000
    common = generator.uniform(-0.6, 0.6, (n, 1))
    x = np.clip(common + spread * generator.normal(size=(n, 10)), -1, 1)
    y = np.clip(0.3 * common[:, 0] + x @ np.tile([0.5, -0.5], 5) + 0.05 * generator.normal(size=n), -1, 1)
    rows, model = scale(table(x, y), "box", True, "real"), make("model", "linear")
    worst = []
    for epsilon in (2.0, 3.0, 5.0, 20.0):
        weights = fit_mechanism("best", WholeSample(*[rows] * 40), model, epsilon).fit.weights
        errors = np.mean(np.square(rows.y[:, None] - rows.x @ weights.T), axis=0)
        worst.append(float(errors.max() / np.var(rows.y)))
    assert max(worst) < 1


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_of_a_level_that_no_row_has_contains_zero(seed, table, make, fit_mechanism) -> None:
    """The data say nothing of it, and the noise must not: those of the other coefficients stay narrow."""
    generator, n = np.random.default_rng(5), 6_000
    age, level = generator.uniform(-1, 1, n), generator.integers(3, size=n)
    y = np.clip(-0.6 + 0.13 * age + 0.03 * (level == 0) + 0.1 * generator.normal(size=n), -1, 1)
    rows = scale(table(np.column_stack([age, np.eye(4)[level]]), y, (4,)), "box", True, "real")
    fitted = fit_mechanism("best", rows, make("model", "linear"), 1.2, seed)
    made = fitted.fit.uncertainty.intervals(IntervalRequest(fitted.fit.weights, fitted.problem.n, "covariance"))
    assert made.low[0, 5] < 0 < made.high[0, 5]
    assert made.high[0, 1] - made.low[0, 1] < 0.15
    assert made.low[0, 1] < 0.13 < made.high[0, 1]


@pytest.mark.long
@pytest.mark.parametrize("covers", ["population", "table"])
@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_its_intervals_cover(correlation, covers, table, make, fit_mechanism) -> None:
    """100 tables of 2,000 rows and 5 features at ε = 1 and 3: a coverage of .95 is below .90 once in 10,000 times.

    The 500 intervals of an ε are not independent; those of one table were taken for one and a half.
    """
    generator, coefficients = np.random.default_rng(6), np.array([0.0, 0.2, -0.3, 0.1, 0.0, 0.2])
    model, covered = make("model", "linear"), []
    for seed in range(100):
        common, own = generator.uniform(-1, 1, (2_000, 1)), generator.uniform(-1, 1, (2_000, 5))
        x = correlation * common + (1 - correlation) * own
        y = np.clip(x @ coefficients[1:] + 0.2 * generator.normal(size=2_000), -1, 1)
        rows = scale(table(x, y), "box", True, "real")
        truth = coefficients
        if covers == "table":
            truth = fit_mechanism("no_privacy", rows, model, 1.0).fit.weights[0]
        for epsilon in (1.0, 3.0):
            fitted = fit_mechanism("best", rows, model, epsilon, seed)
            request = IntervalRequest(fitted.fit.weights, fitted.problem.n, "covariance", covers)
            made = fitted.fit.uncertainty.intervals(request)
            covered.append(((made.low <= truth) & (truth <= made.high))[0, 1:])
    rates = np.reshape(covered, (100, 2, 5)).mean(axis=(0, 2))
    assert rates.min() >= 0.90


def test_intervals_cover_where_targets_lie_at_both_bounds(table, make, fit_mechanism) -> None:
    """3 % of the targets are at one bound and the others at the other: their variance is that of residuals of nearly 2.

    Of 60 tables, 52 or fewer would be covered once in 100 times if the intervals of a coefficient cover .95.
    """
    generator, covered = np.random.default_rng(7), []
    for seed in range(60):
        x, y = generator.uniform(-1, 1, (10_000, 2)), np.where(generator.random(10_000) < 0.03, 1.0, -1.0)
        fitted = fit_mechanism("best", scale(table(x, y), "box", True, "real"), make("model", "linear"), 10.0, seed)
        made = fitted.fit.uncertainty.intervals(IntervalRequest(fitted.fit.weights, fitted.problem.n, "covariance"))
        covered.append(((made.low <= [-0.94, 0, 0]) & (made.high >= [-0.94, 0, 0]))[0])
    assert np.sum(covered, axis=0).min() > 52
