"""The functional mechanism: its authors' example, its repairs, and drawing until bounded."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.scaling import scale
from dpbench.data.statistics import WholeSample
from dpbench.quadratic import Quadratic


def test_zhang_s_toy_example_is_the_printed_polynomial(make, curate, geometry, rows) -> None:  # type: ignore[no-untyped-def]
    """Zhang et al. 2012, section 4.2: f(ω) = 2.06 ω² - 2.34 ω + 1.25 with ω* = 117/206, and Δ = 8."""
    points = rows(geometry(1), [[1], [0.9], [-0.5]], [0.4, 0.3, -1])
    sample = WholeSample(points)
    curator = curate(sample, epsilon=1e15)
    problem = make("model", "linear", intercept=False).prepare(curator)
    query = problem.polynomial()
    exact = query.exact(sample)
    np.testing.assert_allclose(exact, [[2.06, -2.34]], rtol=1e-15)
    assert sample.moments.yy[0] == pytest.approx(1.25, rel=1e-15)
    assert problem.exact(sample).weights[0, 0] == pytest.approx(117 / 206, rel=1e-15)
    assert query.l1_bound("paper") == 8
    fit = make("mechanism", "fm").fit(curator, problem, curator.ledger.budget)
    assert fit.weights[0, 0] == pytest.approx(117 / 206, rel=1e-12)


@pytest.fixture
def noisy(geometry, rows, repeated):  # type: ignore[no-untyped-def]
    """2,000 runs on 40 rows of 2 columns: little data, so that objectives are often unbounded."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (40, 2))
    return repeated(rows(geometry(2), x, np.tanh(x.sum(axis=1))), 2_000)


def fitted(sample, make, curate, epsilon, **options):  # type: ignore[no-untyped-def]
    curator = curate(sample, epsilon=epsilon)
    problem = make("model", "linear", intercept=False).prepare(curator)
    fit = make("mechanism", "fm", **options).fit(curator, problem, curator.ledger.budget)
    (answer,) = curator.tape
    query = problem.polynomial(options.get("convention", "monomial"))
    return fit, query.quadratic(answer.noisy, sample.n), answer


@pytest.mark.parametrize("convention", ["monomial", "matrix", "code"])
def test_drawn_until_bounded_every_objective_is_positive_definite(convention, noisy, make, curate) -> None:  # type: ignore[no-untyped-def]
    fit, objective, _ = fitted(noisy, make, curate, 1.0, until_bounded=True, convention=convention)
    assert (np.linalg.eigvalsh(objective.matrix)[:, 0] > 0).all()
    assert set(fit.status) == {"ok"}
    assert not fit.health["not_positive_definite"].any()
    solved = -0.5 * np.linalg.solve(objective.matrix, objective.linear[..., None])[..., 0]
    np.testing.assert_allclose(fit.weights, solved, rtol=1e-9)
    released, first, _ = fitted(noisy, make, curate, 0.5, repair="none", ridge=0.0, convention=convention)
    bounded = first.positive_definite
    assert 0.02 < bounded.mean() < 0.9, "the test needs both kinds of runs"
    np.testing.assert_array_equal(fit.weights[bounded], released.weights[bounded])
    assert (fit.weights[~bounded] != released.weights[~bounded]).all()


def test_drawn_until_bounded_answers_follow_the_conditional_law(noisy, make, curate) -> None:  # type: ignore[no-untyped-def]
    """Against plain rejection: the 5 means over 2,000 runs, within 5.5 standard errors. False alarm 1e-6."""
    _, _, answer = fitted(noisy, make, curate, 1.0, until_bounded=True)
    _, _, plain = fitted(noisy, make, curate, 0.5)
    generator = np.random.default_rng(9)
    draws = plain.exact[0] + generator.laplace(scale=plain.noise.scale[0, 0], size=(200_000, plain.exact.shape[1]))
    diagonal, off = draws[:, [0, 2]], draws[:, 1] / 2
    kept = draws[(diagonal.min(axis=1) > 0) & (diagonal[:, 0] * diagonal[:, 1] > off**2)]
    error = np.sqrt(kept.var(axis=0) * (1 / len(answer.noisy) + 1 / len(kept)))
    assert (np.abs(answer.noisy.mean(axis=0) - kept.mean(axis=0)) < 5.5 * error).all()
    assert (np.abs(answer.noisy.mean(axis=0) - plain.noisy.mean(axis=0)) > 5.5 * error)[[0, 2]].all(), "conditioning is visible"


def test_on_a_singular_design_without_visible_noise_drawing_until_bounded_ends(make, curate, table) -> None:  # type: ignore[no-untyped-def]
    """Where the noise drowns in rounding, the flat direction of a duplicate column never becomes positive definite."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (200, 2))
    train = scale(table(np.column_stack([x, x[:, 0]]), np.tanh(x.sum(axis=1))), "box", False, "real")
    curator = curate(train, epsilon=1e20)
    problem = make("model", "linear", intercept=False).prepare(curator)
    tries = 0
    until = curator.until

    def counted(query, noise, accept, max_tries=None):  # type: ignore[no-untyped-def]
        def counting(run, answer):  # type: ignore[no-untyped-def]
            nonlocal tries
            tries += 1
            assert tries < 1_000, "it would never end"
            return accept(run, answer)

        return until(query, noise, counting, max_tries)

    curator.until = counted
    fit = make("mechanism", "fm", until_bounded=True).fit(curator, problem, curator.ledger.budget)
    expected = train.x @ np.linalg.lstsq(train.x, train.y, rcond=None)[0]
    np.testing.assert_allclose(train.x @ fit.weights[0], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("repair", "convention", "ridge"),
    [
        ("trim", "monomial", 4.0),
        ("trim", "matrix", 4.0),
        ("trim", "code", 5.0),
        ("floor", "monomial", 0.0),
        ("none", "monomial", 4.0),
    ],
)
def test_the_ridge_and_the_repair_are_the_published_ones(repair, convention, ridge, noisy, make, curate) -> None:  # type: ignore[no-untyped-def]
    """λ = 4 sqrt(2) Δ/ε (the program: 5), then trimming; the floor is 2 std_off sqrt(D), without a ridge."""
    fit, objective, answer = fitted(noisy, make, curate, 2.0, repair=repair, convention=convention)
    b = 2 * 3**2 / 2.0
    assert answer.noise.scale[0, 0] == b
    ridged = Quadratic(objective.matrix + ridge * 2**0.5 * b * np.eye(2), objective.linear)
    if repair == "trim":
        expected, changed = ridged.trimmed(), ~ridged.positive_definite
    elif repair == "floor":
        floor = 2 * (b / 2**0.5) * 2**0.5
        expected, changed = ridged.floored(floor), np.linalg.eigvalsh(ridged.matrix)[:, 0] < floor
    else:
        expected, changed = ridged, ~ridged.positive_definite
    np.testing.assert_allclose(fit.weights, expected.minimiser(), rtol=1e-7)
    np.testing.assert_array_equal(fit.status != "ok", changed)
    assert changed.any(), "the test needs repaired runs"
    np.testing.assert_array_equal(fit.health["not_positive_definite"], ~objective.positive_definite)


def test_the_ridge_option_counts_standard_deviations(noisy, make, curate) -> None:  # type: ignore[no-untyped-def]
    fit, objective, answer = fitted(noisy, make, curate, 2.0, ridge=11.0)
    ridged = objective.ridged(11 * 2**0.5 * answer.noise.scale[0, 0])
    np.testing.assert_allclose(fit.weights, ridged.trimmed().minimiser(), rtol=1e-7)


def test_without_repair_an_unbounded_objective_is_called_diverged(noisy, make, curate) -> None:  # type: ignore[no-untyped-def]
    fit, objective, _ = fitted(noisy, make, curate, 0.5, ridge=0.0, repair="none")
    np.testing.assert_array_equal(fit.status == "diverged", ~objective.positive_definite)
    repaired, _, _ = fitted(noisy, make, curate, 0.5, ridge=0.0, repair="trim")
    np.testing.assert_array_equal(repaired.status == "repaired", ~objective.positive_definite)


@pytest.mark.parametrize("model", ["linear", "ridge"])
@pytest.mark.parametrize("options", [{"repair": "trim"}, {"repair": "floor"}, {"convention": "matrix"}])
def test_permuting_features_permutes_the_exact_part_and_the_limit(model, options, make, curate, table) -> None:  # type: ignore[no-untyped-def]
    """Noise belongs to positions, so weights permute where the noise vanishes."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (300, 5))
    y = np.tanh(x @ np.arange(5.0))
    order = np.array([3, 0, 4, 2, 1])
    weights = []
    for columns in (np.arange(5), order):
        curator = curate(scale(table(x[:, columns], y), "box", True, "real"), epsilon=1e13)
        problem = make("model", model).prepare(curator)
        weights.append(make("mechanism", "fm", **options).fit(curator, problem, curator.ledger.budget).weights[0])
    np.testing.assert_allclose(weights[1][1:], weights[0][1:][order], atol=1e-9)
    assert weights[1][0] == pytest.approx(weights[0][0], abs=1e-9)
