"""Lasso: scikit-learn's solution, on any objective that has one, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from dpbench.contracts.fit import Fit
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale
from dpbench.privacy.queries.quadratic import Quadratic

SOLVERS = ["auto", "scs", "clarabel"]


@pytest.fixture
def drawn(table: Callable[..., Any]) -> Callable[..., Rows]:
    def built(n: int = 200, d: int = 8, intercept: bool = True, scaling: Any = "box", seed: int = 0) -> Rows:
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1, 1, (n, d))
        x[:, 1] = np.clip(0.9 * x[:, 0] + 0.1 * x[:, 1], -1, 1)
        y = np.clip(0.3 + 0.4 * x[:, 0] - 0.3 * x[:, 2] + 0.2 * generator.normal(size=n), -1, 1)
        return scale(table(x, y), scaling, intercept, "real")

    return built


def oracle(rows: Rows, penalty: float) -> np.ndarray:
    """scikit-learn halves the mean loss; its intercept is free too."""
    intercept = rows.geometry.intercept
    model = Lasso(alpha=penalty / 2, fit_intercept=intercept, tol=1e-12, max_iter=100_000)
    model.fit(rows.x[:, int(intercept) :], rows.y)
    return np.append([model.intercept_ / rows.geometry.constant] if intercept else [], model.coef_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [1e-5, 1e-3, 0.05])
def test_the_exact_fit_is_scikit_learn_s(penalty, intercept, scaling, solver, drawn, make, curate) -> None:
    rows = drawn(intercept=intercept, scaling=scaling)
    fit = (
        make("model", "lasso", penalty=penalty, intercept=intercept, solver=solver).prepare(curate(rows)).exact(WholeSample(rows))
    )
    assert fit.status.tolist() == ["ok"]
    np.testing.assert_array_equal(fit.weights[0] == 0, oracle(rows, penalty) == 0)
    np.testing.assert_allclose(fit.weights[0], oracle(rows, penalty), atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_exact_fit_of_the_wines_is_scikit_learn_s(solver, make, curate) -> None:
    rows = scale(make("dataset", "wine").select(np.random.default_rng(0)), "box", True, "real")
    problem = make("model", "lasso", penalty=0.002, solver=solver).prepare(curate(rows))
    weights = problem.exact(WholeSample(rows)).weights[0]
    expected = oracle(rows, 0.002)
    assert (expected == 0).any()
    np.testing.assert_array_equal(weights == 0, expected == 0)
    np.testing.assert_allclose(weights, expected, atol=1e-8)


def test_a_large_penalty_leaves_the_mean(drawn, make, curate) -> None:
    rows = drawn()
    weights = make("model", "lasso", penalty=100.0).prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    assert weights[0] == pytest.approx(rows.y.mean(), rel=1e-12)
    assert (weights[1:] == 0).all()


def test_on_singular_designs_the_objective_is_as_small(drawn, make, curate) -> None:
    for n, d in ((200, 8), (6, 8)):
        rows = drawn(n, d)
        z = rows.z.copy()
        z[:, 5], z[:, 6], z[:, 7] = z[:, 1], 0, 1
        rows = Rows(z, rows.geometry)
        weights = make("model", "lasso", penalty=0.01).prepare(curate(rows)).exact(WholeSample(rows)).weights[0]

        def objective(w: np.ndarray, rows: Rows = rows) -> float:
            return float(np.mean((rows.y - rows.x @ w) ** 2) + 0.01 * np.abs(w[1:]).sum())

        assert objective(weights) == pytest.approx(objective(oracle(rows, 0.01)), abs=1e-8)


def quadratics(count: int, size: int, rank: int, seed: int = 0) -> Quadratic:
    """Positive semi-definite objectives of eigenvalues from 1e-4 to 1, times sizes from 1 to 1e8, that have a minimum."""
    generator = np.random.default_rng(seed)
    vectors = np.linalg.qr(generator.normal(size=(count, size, size)))[0]
    values = np.where(np.arange(size) < rank, 10.0 ** generator.uniform(-4, 0, (count, size)), 0)
    matrix = (vectors * values[:, None]) @ np.swapaxes(vectors, -1, -2)
    linear = (matrix @ generator.normal(size=(count, size, 1)))[..., 0]
    factor = 10.0 ** generator.uniform(0, 8, (count, 1))
    return Quadratic(factor[..., None] * matrix, factor * linear)


@pytest.mark.parametrize("rank", [6, 3, 0])
def test_any_objective_with_a_minimum_is_minimised(rank, drawn, make, curate, repeated) -> None:
    """The optimality conditions, on objectives such as a repair leaves of noise, singular ones included."""
    sample = repeated(drawn(100, 5), 30)
    problem = make("model", "lasso", penalty=0.5).prepare(curate(sample))
    objectives = quadratics(30, 6, rank)
    weights = problem.minimise(objectives)
    slope = 2 * np.einsum("rij,rj->ri", objectives.matrix, weights) + objectives.linear
    size = np.maximum(np.abs(objectives.linear).max(axis=1, keepdims=True), 1e-9)
    absolute = 0.5 * 100 * np.where(np.arange(6) > 0, 1.0, 0.0)
    zero = weights == 0
    broken = np.where(zero, np.maximum(np.abs(slope) - absolute, 0), np.abs(slope + absolute * np.sign(weights)))
    assert (broken / size).max(initial=0.0) < 1e-5


def test_an_objective_without_a_minimum_has_its_stationary_point_or_no_weights(drawn, make, curate) -> None:
    problem = make("model", "lasso", penalty=0.01).prepare(curate(drawn(100, 3)))
    unrepaired = Quadratic(np.diag([1.0, 2.0, 1.0, -1.0])[None], np.array([[2.0, 4.0, 2.0, 2.0]]))
    np.testing.assert_allclose(problem.minimise(unrepaired), [[-1.0, -1.0, -1.0, 1.0]])
    flat = Quadratic(np.diag([1.0, 2.0, 1.0, 0.0])[None], np.array([[2.0, 4.0, 2.0, 50.0]]))  # steeper than the penalty holds
    fit = Fit.good(problem.minimise(flat))
    assert fit.status.tolist() == ["diverged"]
    assert fit.health["not_finite"].tolist() == [True]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_run_s_bits_do_not_depend_on_the_other_runs(solver, drawn, make, curate, repeated) -> None:
    problem = make("model", "lasso", penalty=0.5, solver=solver).prepare(curate(repeated(drawn(100, 5), 12)))
    objectives = quadratics(12, 6, 5)
    together = problem.minimise(objectives)
    backwards = problem.minimise(Quadratic(objectives.matrix[::-1].copy(), objectives.linear[::-1].copy()))
    np.testing.assert_array_equal(together, backwards[::-1])
    alone = problem.for_run(7).minimise(Quadratic(objectives.matrix[7:8], objectives.linear[7:8]))
    np.testing.assert_array_equal(together[7:8], alone)
    single = problem.for_run(7).minimise(Quadratic(objectives.matrix[7], objectives.linear[7]))
    np.testing.assert_array_equal(together[7], single)


@pytest.mark.parametrize("options", [{}, {"repair": "floor", "sensitivity": "tight"}, {"repair": "none", "ridge": 0.0}])
def test_the_functional_mechanism_fits_it_at_every_epsilon(options, drawn, make, curate, repeated) -> None:
    sample = repeated(drawn(), 10)
    model = make("model", "lasso", penalty=0.001)
    for epsilon in (0.01, 1.0, 100.0):
        curator = curate(sample, epsilon=epsilon)
        fit = make("mechanism", "fm", **options).fit(curator, model.prepare(curator), curator.ledger.budget)
        assert np.isfinite(fit.weights).all(), f"{options} at {epsilon}"
        assert curator.ledger.total.epsilon == pytest.approx(epsilon)
    curator = curate(sample, epsilon=1e13)
    fit = make("mechanism", "fm", **options).fit(curator, model.prepare(curator), curator.ledger.budget)
    np.testing.assert_allclose(fit.weights, np.repeat([oracle(drawn(), 0.001)], 10, axis=0), atol=1e-7)
