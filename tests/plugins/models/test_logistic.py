"""Logistic regression: the maximum of the likelihood if there is one, otherwise a status; scores as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score, roc_curve

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws

Make = Callable[..., Any]


@pytest.fixture
def binary(table: Callable[..., Any]) -> Callable[..., Rows]:
    """Rows of these features (one-hot groups last) and classes."""

    def built(x: np.ndarray, y: np.ndarray, groups: tuple[int, ...] = (), intercept: bool = True, scaling: Any = "box") -> Rows:
        return scale(table(x, np.asarray(y, dtype=float), groups, threshold=0.5), scaling, intercept, "binary")

    return built


def drawn(n: int = 400, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, (n, d))
    return x, generator.random(n) < 1 / (1 + np.exp(-0.7 - 2 * x @ generator.normal(size=d)))


def fitted(make: Make, curate: Make, rows: Rows) -> Any:
    return make("model", "logistic").prepare(curate(rows)).exact(WholeSample(rows))


def oracle(rows: Rows, weight: np.ndarray | None = None) -> np.ndarray:
    model = LogisticRegression(C=1e12, fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    return np.asarray(model.fit(rows.x, rows.y, sample_weight=weight).coef_[0])


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [60, 400, 40_000])
def test_the_exact_fit_is_scikit_learn_s(n, intercept, scaling, make, curate, binary) -> None:
    rows = binary(*drawn(n), intercept=intercept, scaling=scaling)
    fit = fitted(make, curate, rows)
    assert fit.status.tolist() == ["ok"]
    np.testing.assert_allclose(fit.weights[0], oracle(rows), rtol=1e-6, atol=1e-6)


def test_the_exact_fit_of_the_wines_is_scikit_learn_s(make, curate) -> None:
    rows = scale(make("dataset", "wine").select(np.random.default_rng(0)), "box", True, "binary")
    fit = fitted(make, curate, rows)
    assert fit.status.tolist() == ["ok"]
    np.testing.assert_allclose(fit.weights[0], oracle(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("design", ["duplicate", "constant", "zero", "one-hot"])
def test_on_singular_designs_predictions_are_those_of_the_columns_that_count(design, make, curate, binary) -> None:
    x, y = drawn()
    more = {"duplicate": x[:, :1], "constant": np.ones((400, 1)), "zero": np.zeros((400, 1))}
    if design == "one-hot":
        level = np.eye(3)[np.arange(400) % 3]
        rows, plain = binary(np.column_stack([x, level]), y, (3,)), binary(np.column_stack([x, level[:, :2]]), y, (2,))
    else:
        rows, plain = binary(np.column_stack([x, more[design]]), y), binary(x, y)
    fit = fitted(make, curate, rows)
    assert fit.status.tolist() == ["ok"]
    np.testing.assert_allclose(rows.x @ fit.weights[0], plain.x @ oracle(plain), atol=1e-6)
    if design == "zero":
        assert fit.weights[0, -1] == 0


def test_classes_that_can_be_separated_are_a_status_and_finite_weights(make, curate, binary) -> None:
    x, _ = drawn()
    rows = binary(x, x[:, 0] + 0.5 * x[:, 1] > 0.1)
    fit = fitted(make, curate, rows)
    assert fit.status.tolist() == ["diverged"]
    assert np.isfinite(fit.weights).all()
    assert ((rows.x @ fit.weights[0] > 0) == (rows.y == 1)).all()


def test_a_level_of_one_class_only_diverges_and_leaves_the_other_weights_alone(make, curate, binary) -> None:
    x, y = drawn()
    level = np.eye(2)[(np.arange(400) < 12).astype(int)]
    y = np.where(level[:, 1] == 1, False, y)
    fit = fitted(make, curate, binary(np.column_stack([x, level]), y, (2,), intercept=False))
    assert fit.status.tolist() == ["diverged"]
    plain = binary(np.column_stack([np.ones(388), x[12:]]), y[12:], intercept=False)
    np.testing.assert_allclose(fit.weights[0, [4, 0, 1, 2, 3]], oracle(plain), atol=1e-4)
    assert -40 < fit.weights[0, 5] < -8


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("only", [0, 1])
def test_rows_of_one_class_give_finite_weights_and_finite_references(
    only, intercept, make, curate, binary, score, score_mean
) -> None:
    x, _ = drawn(30)
    train, test = binary(x, np.full(30, only), intercept=intercept), binary(*drawn(50, seed=1), intercept=intercept)
    problem = make("model", "logistic").prepare(curate(train))
    fit = problem.exact(WholeSample(train))
    assert np.isfinite(fit.weights).all()
    reference = score_mean("logistic", WholeSample(train), WholeSample(test))
    assert reference["error_rate"][0] == pytest.approx(np.mean(test.y != only))
    assert all(np.isfinite(values).all() for values in reference.values())
    scores = score("logistic", fit.weights, WholeSample(train))
    assert np.isnan(scores["auc"]).all()
    assert np.isnan(scores["roc"]).all()
    assert np.isnan(score_mean("logistic", WholeSample(test), WholeSample(train))["auc"]).all()
    assert np.isfinite([scores["error_rate"], scores["log_loss"]]).all()


def test_scores_are_scikit_learn_s_with_ties_too(make, curate, binary, score) -> None:
    x, y = drawn(300)
    rows = binary(np.round(x * 2) / 2, y)
    problem = make("model", "logistic").prepare(curate(rows))
    for weights in (np.array([0.5, 1.0, -0.5, 0.0, 0.0]), np.zeros(5), np.array([1.0, 2.0, 2.0, -3.0, 1.0])):
        scores = score("logistic", weights[None], WholeSample(rows))
        probability = problem.predict(rows.x, weights)
        assert ((probability > 0) & (probability < 1)).all()
        assert scores["auc"][0] == pytest.approx(roc_auc_score(rows.y, rows.x @ weights), rel=1e-12)
        assert scores["log_loss"][0] == pytest.approx(log_loss(rows.y, probability), rel=1e-9)
        assert scores["error_rate"][0] == pytest.approx(np.mean((probability >= 0.5) != rows.y))


@pytest.mark.parametrize("rounding", [0.0, 0.5, 4.0])
def test_the_roc_curve_is_scikit_learn_s_between_its_steps_too(rounding, binary, score) -> None:
    """Where the curve rises straight up, at a false positive rate that is one of its steps, either end may be meant."""
    x, y = drawn(237)
    rows = binary(np.round(x / rounding) * rounding if rounding else x, y)
    weights = np.array([0.5, 1.0, -0.5, 0.3, 0.1])
    curve = score("logistic", weights[None], WholeSample(rows))["roc"][0]
    false, true, _ = roc_curve(rows.y, rows.x @ weights, drop_intermediate=False)
    even = np.linspace(0, 1, len(curve))
    inside = np.abs(even[:, None] - false).min(axis=1) > 1e-9
    assert inside.sum() > 50
    np.testing.assert_allclose(curve[inside], np.interp(even, false, true)[inside], atol=1e-12)
    assert curve[-1] == 1
    assert (np.diff(curve) >= 0).all()


def test_weights_of_any_size_give_finite_scores(make, curate, binary, score) -> None:
    rows = binary(*drawn(100))
    problem = make("model", "logistic").prepare(curate(rows))
    huge = 1e9 * np.ones((1, 5))
    assert all(np.isfinite(values).all() for values in score("logistic", huge, WholeSample(rows)).values())
    assert np.isfinite(problem.log_likelihood(rows.x, rows.y, huge[0], 1.0)).all()
    assert np.isfinite(problem.curvature(rows.x, rows.y, huge[0])).all()


def test_the_reference_predicts_the_majority_of_the_training_rows(make, curate, binary, score_mean) -> None:
    train, test = binary(*drawn(200)), binary(*drawn(100, seed=5))
    reference = score_mean("logistic", WholeSample(train), WholeSample(test))
    rate = train.y.mean()
    assert reference["error_rate"][0] == pytest.approx(np.mean(test.y != (rate >= 0.5)))
    assert reference["log_loss"][0] == pytest.approx(log_loss(test.y, np.full(100, rate)))
    assert reference["auc"][0] == 0.5


def test_gradient_and_curvature_are_the_likelihood_s_derivatives(make, curate, binary) -> None:
    rows = binary(*drawn(20))
    problem = make("model", "logistic").prepare(curate(rows))
    w, step = np.random.default_rng(1).normal(size=5), 1e-4
    move = np.array([step, 0, 0, 0, 0])  # the intercept's column is 1, so x'w moves by as much

    def loss(weights: np.ndarray) -> np.ndarray:
        return -np.asarray(problem.log_likelihood(rows.x, rows.y, weights, 1.0))

    first = (loss(w + move) - loss(w - move)) / (2 * step)
    second = (loss(w + move) - 2 * loss(w) + loss(w - move)) / step**2
    np.testing.assert_allclose(problem.gradient(rows.x, rows.y, w), first, atol=1e-7)
    np.testing.assert_allclose(problem.curvature(rows.x, rows.y, w), second, atol=1e-6)
    zero = np.zeros(5)
    np.testing.assert_allclose(problem.loss.slope[0] + problem.loss.slope[1] * rows.y, problem.gradient(rows.x, rows.y, zero))
    np.testing.assert_allclose(2 * problem.loss.curvature, problem.curvature(rows.x, rows.y, zero))


def test_weighted_rows_count_as_much_as_their_weight(make, curate, binary) -> None:
    rows = binary(*drawn(200))
    problem = make("model", "logistic").prepare(curate(rows))
    weight = np.random.default_rng(0).uniform(0, 3, 200)
    weight[::5] = 0
    np.testing.assert_allclose(problem.weighted(rows.x, rows.y, weight), oracle(rows, weight), rtol=1e-6, atol=1e-6)
    ones = problem.weighted(rows.x, rows.y, np.ones(200))
    np.testing.assert_array_equal(ones, problem.exact(WholeSample(rows)).weights[0])
    np.testing.assert_array_equal(problem.weighted(rows.x, rows.y, np.zeros(200)), np.zeros(5))
    with pytest.raises(ValueError, match="negative weight"):
        problem.weighted(rows.x, rows.y, -weight)


def test_without_noise_the_functional_mechanism_is_four_times_least_squares(make, curate, binary) -> None:
    rows = binary(*drawn())
    curator = curate(rows, epsilon=1e13)
    fit = make("mechanism", "fm").fit(curator, make("model", "logistic").prepare(curator), curator.ledger.budget)
    expected = 4 * np.linalg.lstsq(rows.x, rows.y - 0.5, rcond=None)[0]
    np.testing.assert_allclose(fit.weights[0], expected, atol=1e-8)
    assert curator.ledger.total.epsilon == pytest.approx(1e13)


def test_a_run_s_fit_depends_on_its_training_rows_alone(make, binary, split) -> None:
    """It does not depend on the other repeats, to the last bit; the table of its own repeat is where the search starts."""
    rows = binary(*drawn(203))

    def fit(sample: Any, runs: list[tuple[int, int]]) -> Any:
        curator = Curator(sample, Draws(0, "t", runs), Budget(1.0, 1e-6, "pure"))
        return make("model", "logistic").prepare(curator).exact(sample)

    both, second = split(rows, (0, 1)), split(rows, (1,))
    together = fit(both.train, both.runs).weights
    np.testing.assert_array_equal(together[3:], fit(second.train, second.runs).weights)
    alone = fit(WholeSample(both.train.rows(4)), [(1, 1)]).weights
    np.testing.assert_allclose(together[4:5], alone, rtol=1e-12, atol=1e-13)
