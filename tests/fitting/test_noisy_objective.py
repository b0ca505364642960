"""The ridge, the repairs and the minimiser of noisy objectives."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.fitting.noisy_objective import minimise, minimum_within
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.quadratic import Quadratic


@pytest.fixture
def problem(make, curate, geometry, rows):
    """Linear regression on two columns without an intercept, 30 rows in each of 2 runs."""
    generator = np.random.default_rng(0)
    sample = rows(geometry(2), generator.uniform(-1, 1, (30, 2)), generator.uniform(-1, 1, 30))
    prepared = make("model", "linear", intercept=False).prepare(curate(sample))
    prepared.n = np.array([30.0, 30.0])
    return prepared


def minimised(problem, answers, noise, *options, **more):
    """Return the fit to released coefficients: one row of monomials per run."""
    objective = problem.polynomial()
    return minimise(problem, objective, objective.quadratic(answers, problem.n), noise, *options, **more)


NOISE = laplace(1.0, 0.5, "p")  # scale 2 on every coefficient: variance 8
DEFINITE = [3.0, 1.0, 2.0, -1.0, 4.0]
"""Monomials: M = [[3, ½], [½, 2]], c = (-1, 4)."""
INDEFINITE = [3.0, 0.0, -2.0, -1.0, 4.0]
OPEN = [("lasso", {}, False), ("elastic_net", {"alpha": 0.5}, False)]
"""Models without a closed form."""


def test_the_ridge_is_in_multiples_of_the_noise_on_the_quadratic_part(problem) -> None:
    fit = minimised(problem, np.array([DEFINITE, DEFINITE]), NOISE, 1.5, "none")
    matrix = np.array([[3.0, 0.5], [0.5, 2.0]]) + 1.5 * np.sqrt(8) * np.eye(2)
    np.testing.assert_allclose(fit.weights[0], np.linalg.solve(-2 * matrix, [-1.0, 4.0]), rtol=1e-12)
    assert fit.status.tolist() == ["ok", "ok"]


@pytest.mark.parametrize(("repair", "status"), [("trim", "repaired"), ("floor", "repaired"), ("none", "diverged")])
def test_each_run_is_repaired_on_its_own(repair, status, problem) -> None:
    """Trimming drops the negative direction; the floor is 2 std √D, std² = 8 / 4 for half a monomial's coefficient."""
    answers = np.array([[9.0, 0.0, 8.0, -1.0, 4.0], INDEFINITE])
    fit = minimised(problem, answers, NOISE, 0.0, repair)
    np.testing.assert_allclose(fit.weights[0], [1 / 18, -4 / 16], rtol=1e-12)
    assert fit.status.tolist() == ["ok", status]
    assert fit.health["not_positive_definite"].tolist() == [False, True]
    floor = 2 * np.sqrt(2) * np.sqrt(2)
    expected = {"trim": [1 / 6, 0.0], "floor": [1 / (2 * floor), -4 / (2 * floor)]}
    if repair in expected:
        np.testing.assert_allclose(fit.weights[1], expected[repair], rtol=1e-12)
    else:
        assert np.linalg.norm(fit.weights[1]) == pytest.approx(10.0, rel=1e-6)


def test_without_a_minimum_the_closed_form_is_where_the_gradient_is_zero(problem) -> None:
    """Dandekar et al. 2018, equation 3: the stationary point of an indefinite objective is its saddle."""
    fit = minimised(problem, np.array([DEFINITE, INDEFINITE]), NOISE, 0.0, "stationary")
    np.testing.assert_allclose(fit.weights[1], [1 / 6, 1.0], rtol=1e-12)
    np.testing.assert_allclose(fit.weights[0], np.linalg.solve([[6.0, 1.0], [1.0, 4.0]], [1.0, -4.0]), rtol=1e-12)
    assert fit.status.tolist() == ["ok", "diverged"]
    assert fit.health["not_positive_definite"].tolist() == [False, True]


def test_the_closed_form_has_no_bound_on_the_weights(problem) -> None:
    near_singular = [1e-9, 0.0, -1.0, -1.0, 4.0]
    fit = minimised(problem, np.array([near_singular, INDEFINITE]), NOISE, 0.0, "stationary", radius=1.0)
    np.testing.assert_allclose(fit.weights[0], [5e8, 2.0], rtol=1e-9)


def test_on_a_singular_objective_the_closed_form_is_the_stationary_point_of_smallest_norm(problem) -> None:
    singular = [4.0, 0.0, 0.0, -8.0, 0.0]
    fit = minimised(problem, np.array([singular, singular]), NOISE, 0.0, "stationary")
    np.testing.assert_allclose(fit.weights, [[1.0, 0.0]] * 2, atol=1e-12)
    assert fit.health["not_positive_definite"].all()


def test_the_closed_form_is_the_same_in_rescaled_columns(problem) -> None:
    columns = np.array([2.0, 0.5])
    answers = np.array([DEFINITE, INDEFINITE])
    plain = minimised(problem, answers, NOISE, 0.0, "stationary")
    rescaled = minimised(problem, answers, NOISE, 0.0, "stationary", columns=columns)
    np.testing.assert_allclose(rescaled.weights, plain.weights, rtol=1e-10)


@pytest.mark.parametrize(("model", "options", "closed"), [("ridge", {}, True), ("elastic_net", {"alpha": 1.0}, True), *OPEN])
def test_an_absolute_penalty_has_no_closed_form(model, options, closed, make, curate, geometry, rows) -> None:
    """Ridge is equation 5; lasso and elastic net then do what ``none`` does."""
    generator = np.random.default_rng(0)
    curator = curate(rows(geometry(2), generator.uniform(-1, 1, (30, 2)), generator.uniform(-1, 1, 30)))
    problem = make("model", model, intercept=False, penalty=0.01, **options).prepare(curator)
    fits = {repair: minimised(problem, np.array([INDEFINITE]), NOISE, 0.0, repair) for repair in ("stationary", "none")}
    assert fits["stationary"].status.tolist() == ["diverged"]
    if closed:
        saddle = np.linalg.solve(-2 * (np.diag([3.0, -2.0]) + 0.3 * np.eye(2)), [-1.0, 4.0])
        np.testing.assert_allclose(fits["stationary"].weights[0], saddle, rtol=1e-10)
    else:
        np.testing.assert_array_equal(fits["stationary"].weights, fits["none"].weights)


def test_columns_scale_the_ridge_and_the_repair_and_leave_the_objective(problem) -> None:
    """On u with w = q u the noise of scale 2 / (q_j q_k) is even, so the ridge is the same on both coordinates of u."""
    columns = np.array([2.0, 0.5])
    query = problem.polynomial()
    noise = laplace(1.0, 0.5, "p")
    uneven = type(noise)(noise.law, noise.scale / query.products(columns)[None], noise.bound, "p")
    fit = minimised(problem, np.array([DEFINITE, DEFINITE]), uneven, 1.0, "trim", columns=columns)
    matrix = np.array([[3.0, 0.5], [0.5, 2.0]]) + np.sqrt(8) * np.diag(1 / columns**2)
    np.testing.assert_allclose(fit.weights[0], np.linalg.solve(-2 * matrix, [-1.0, 4.0]), rtol=1e-10)


@pytest.mark.parametrize("radius", [0.5, 10.0])
def test_no_point_of_the_ball_is_below_the_minimum_within_it(radius, problem) -> None:
    generator = np.random.default_rng(1)
    half = generator.normal(size=(2, 2, 2))
    quadratic = Quadratic(half + np.swapaxes(half, 1, 2) - 4 * np.eye(2), generator.normal(size=(2, 2)))
    unbounded = ~quadratic.bounded
    assert unbounded.all()
    minimum = minimum_within(problem, quadratic, unbounded, radius)
    np.testing.assert_allclose(np.linalg.norm(minimum, axis=1), radius, rtol=1e-6)
    for run in range(2):

        def value(w: np.ndarray, run: int = run) -> np.ndarray:
            return np.einsum("ij,jk,ik->i", w, quadratic.matrix[run], w) + w @ quadratic.linear[run]

        points = generator.normal(size=(20_000, 2))
        points *= radius * np.sqrt(generator.random((20_000, 1))) / np.linalg.norm(points, axis=1, keepdims=True)
        lowest = value(minimum[run : run + 1])[0]
        assert lowest <= value(points).min() + 1e-6 * abs(lowest)


def test_bounded_runs_keep_their_minimum_whatever_the_radius(problem) -> None:
    quadratic = Quadratic(np.stack([np.eye(2), -np.eye(2)]), np.array([[-200.0, 0.0], [1.0, 1.0]]))
    minimum = minimum_within(problem, quadratic, ~quadratic.bounded, 1.0)
    np.testing.assert_allclose(minimum[0], [100.0, 0.0], rtol=1e-12)
    assert np.linalg.norm(minimum[1]) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(("model", "inside"), [("linear", False), ("lasso", True)])
def test_a_minimum_in_the_ball_takes_few_minimisations(model, inside, make, curate, geometry, rows, monkeypatch) -> None:
    """At most 15 for each run. Its minimum has the norm of the radius, or less where it is that of the least multiplier."""
    generator, runs = np.random.default_rng(3), 40
    sample = rows(geometry(5), generator.uniform(-1, 1, (30, 5)), generator.uniform(-1, 1, 30))
    problem = make("model", model, intercept=False).prepare(curate(WholeSample(*[sample] * runs)))
    half = generator.normal(size=(runs, 5, 5)) - np.eye(5)
    linear = 10.0 ** generator.uniform(-2, 2, (runs, 1)) * generator.normal(size=(runs, 5))
    quadratic = Quadratic(half + np.swapaxes(half, 1, 2), linear)
    assert not quadratic.bounded.any()
    sizes, minimum = [], type(problem).minimise
    monkeypatch.setattr(type(problem), "minimise", lambda self, of: sizes.append(len(of.linear)) or minimum(self, of))
    norms = np.linalg.norm(minimum_within(problem, quadratic, ~quadratic.bounded, 10.0), axis=1)
    assert sizes[0] == runs
    assert len(sizes) - 1 <= 15 * runs
    assert (norms <= 10 * (1 + 1e-12)).all()
    below = norms < 10 * (1 - 1e-8)
    assert below.any() == inside
    assert (np.linalg.norm(minimum(problem, quadratic.ridged(1e-9 - quadratic.spectrum[0][:, 0])), axis=1)[below] < 10).all()
