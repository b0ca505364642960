"""Least absolute deviations: as small an error as linear programming finds, on degenerate rows too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale

CASES = [
    "normal",
    "outliers",
    "steps",
    "duplicate column",
    "zero column",
    "one-hot",
    "fewer rows than columns",
    "exact",
    "constant",
    "zero",
]


@pytest.fixture
def drawn(table: Callable[..., Any]) -> Callable[..., Rows]:
    def built(case: str = "normal", n: int = 150, intercept: bool = True, scaling: Any = "box") -> Rows:
        generator = np.random.default_rng(len(case))
        n = 5 if case == "fewer rows than columns" else n
        x = generator.uniform(-1, 1, (n, 6))
        groups: tuple[int, ...] = ()
        if case == "duplicate column":
            x[:, 3], x[:, 4], x[:, 5] = x[:, 1], x[:, 1], x[:, 0]
        if case == "zero column":
            x[:, 2] = 0
        if case == "one-hot":
            x, groups = np.column_stack([x[:, :2], np.eye(4)[generator.integers(4, size=n)]]), (4,)
        y = 0.2 + x @ generator.normal(size=6) / 5
        if case not in ("exact", "constant", "zero"):
            y += 0.1 * generator.standard_t(1.5 if case == "outliers" else 30, n)
        if case == "steps":
            y = np.round(4 * y) / 4
        if case == "exact":
            x = np.round(16 * x) / 16
            y = 0.25 + 0.25 * x[:, 0] - 0.5 * x[:, 1]
        if case in ("constant", "zero"):
            y = np.full(n, 0.25 if case == "constant" else 0.0)
        return scale(table(x, np.clip(y, -1, 1), groups), scaling, intercept, "real")

    return built


def least(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    """The least (weighted) sum of absolute errors, and weights that reach it, by linear programming."""
    n, d = x.shape
    cost = np.ones(n) if weight is None else weight
    equal = np.hstack([x, np.eye(n), -np.eye(n)])
    bounds = [(None, None)] * d + [(0, None)] * (2 * n)
    solution = linprog(np.concatenate([np.zeros(d), cost, cost]), A_eq=equal, b_eq=y, bounds=bounds, method="highs")
    return float(solution.fun), np.asarray(solution.x[:d])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_the_error_is_the_least_there_is(case, intercept, drawn, make, curate) -> None:
    rows = drawn(case, intercept=intercept)
    fit = make("model", "robust").prepare(curate(rows)).exact(WholeSample(rows))
    assert fit.status.tolist() == ["ok"]
    error = np.abs(rows.y - rows.x @ fit.weights[0]).sum()
    assert np.abs(fit.weights).max() < 5, "nothing along the directions that no row has"
    smallest, weights = least(rows.x, rows.y)
    assert error == pytest.approx(smallest, rel=1e-7, abs=1e-7)
    if case in ("normal", "outliers"):
        np.testing.assert_allclose(fit.weights[0], weights, atol=1e-5)


def test_the_error_in_the_ball_is_the_least_there_is(drawn, make, curate) -> None:
    rows = drawn("outliers", scaling="ball")
    fit = make("model", "robust").prepare(curate(rows)).exact(WholeSample(rows))
    assert np.abs(rows.y - rows.x @ fit.weights[0]).sum() == pytest.approx(least(rows.x, rows.y)[0], rel=1e-7)


def test_with_an_intercept_alone_it_is_the_median(table, make, curate) -> None:
    y = np.random.default_rng(0).uniform(-1, 1, 101)
    rows = scale(table(np.zeros((101, 1)), y), "box", True, "real")
    weights = make("model", "robust").prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, [np.median(rows.y), 0], atol=1e-6)


def test_an_outlier_moves_it_less_than_least_squares(drawn, make, curate) -> None:
    rows = drawn()
    z = rows.z.copy()
    z[:8, -1] = -1
    spoilt = Rows(z, rows.geometry)
    moved = {}
    for name in ("linear", "robust"):
        fits = [make("model", name).prepare(curate(r)).exact(WholeSample(r)).weights[0] for r in (rows, spoilt)]
        moved[name] = np.abs(fits[1] - fits[0]).max()
    assert moved["robust"] < moved["linear"] / 3


def test_weighted_rows_count_as_much_as_their_weight(drawn, make, curate) -> None:
    rows = drawn("outliers")
    problem = make("model", "robust").prepare(curate(rows))
    weight = np.random.default_rng(0).uniform(0, 3, rows.n)
    weight[::4] = 0
    weights = problem.weighted(rows.x, rows.y, weight)
    smallest, _ = least(rows.x, rows.y, weight)
    assert np.abs(weight * (rows.y - rows.x @ weights)).sum() == pytest.approx(smallest, rel=1e-7)
    np.testing.assert_array_equal(problem.weighted(rows.x, rows.y, np.zeros(rows.n)), np.zeros(7))
    with pytest.raises(ValueError, match="negative weight"):
        problem.weighted(rows.x, rows.y, -weight)


def test_gradient_methods_see_a_smooth_loss_close_to_the_absolute_error(drawn, make, curate) -> None:
    """Huber's: its derivatives are those of a loss within half the threshold of |y - x'w|, and no larger than declared."""
    rows = drawn()
    problem = make("model", "robust").prepare(curate(rows))
    w, step, threshold = np.full(7, 0.3), 1e-5, 0.2
    error = rows.x @ w - rows.y

    def loss(error: np.ndarray) -> np.ndarray:
        size = np.abs(error)
        return np.where(size < threshold, size**2 / (2 * threshold), size - threshold / 2)

    assert np.abs(loss(error) - np.abs(error)).max() <= threshold / 2 + 1e-12
    gradient, curvature = problem.gradient(rows.x, rows.y, w), problem.curvature(rows.x, rows.y, w)
    np.testing.assert_allclose(gradient, (loss(error + step) - loss(error - step)) / (2 * step), atol=1e-4)
    assert set(curvature) == {0.0, problem.largest_curvature} == {0.0, 1 / threshold}
    assert np.abs(gradient).max() == problem.largest_slope == 1


def test_scores_add_the_absolute_error_to_the_linear_model_s(drawn, make, curate, repeated, score, score_mean) -> None:
    sample = repeated(drawn(), 2)
    linear, robust = (make("model", name).prepare(curate(sample)) for name in ("linear", "robust"))
    weights = np.random.default_rng(0).normal(size=(2, 7))
    scores, expected = score("robust", weights, sample), score("linear", weights, sample)
    rows = sample.rows(0)
    np.testing.assert_allclose(scores.pop("mae"), np.abs(rows.y - weights @ rows.x.T).mean(axis=1))
    assert {name: values.tolist() for name, values in scores.items()} == {
        name: values.tolist() for name, values in expected.items()
    }
    reference = score_mean("robust", sample, sample)
    np.testing.assert_allclose(reference["mae"], np.abs(rows.y - rows.y.mean()).mean())
    assert reference["mse"] == pytest.approx(score_mean("linear", sample, sample)["mse"])
    likelihoods = [problem.log_likelihood(rows.x, rows.y, weights[0], 0.3) for problem in (robust, linear)]
    np.testing.assert_array_equal(*likelihoods)


def test_the_weights_of_the_textbook_iteration_stay_below_their_bound(drawn, make, curate) -> None:
    problem = make("model", "robust").prepare(curate(drawn()))
    residuals = np.array([0.0, 0.1, -0.25, 2.0, -1e-12])
    np.testing.assert_allclose(problem.irls_weights(residuals, 5.0), [5, 5, 4, 0.5, 5])


def test_mechanisms_on_polynomials_are_pruned_with_a_sentence(drawn, make) -> None:
    sentence = make("mechanism", "fm").unsupported(make("model", "robust"), drawn().geometry)
    assert sentence == "fm does not fit robust: the model provides no polynomial."
    assert make("mechanism", "no_privacy").unsupported(make("model", "robust"), drawn().geometry) is None
