"""The functional mechanism: its authors' example, its repairs, and drawing until bounded."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import exact_answer


def test_zhang_s_toy_example_is_the_printed_polynomial(make, curate, geometry, rows) -> None:
    """Zhang et al. 2012, section 4.2: f(ω) = 2.06 ω² - 2.34 ω + 1.25 with ω* = 117/206, and Δ = 8."""
    points = rows(geometry(1), [[1], [0.9], [-0.5]], [0.4, 0.3, -1])
    sample = WholeSample(points)
    curator = curate(sample, epsilon=1e15)
    problem = make("model", "linear", intercept=False).prepare(curator)
    query = problem.polynomial()
    exact = exact_answer(query, sample)
    np.testing.assert_allclose(exact, [[2.06, -2.34]], rtol=1e-15)
    assert sample.moments.yy[0] == pytest.approx(1.25, rel=1e-15)
    assert problem.exact(sample).weights[0, 0] == pytest.approx(117 / 206, rel=1e-15)
    assert query.l1_bound("paper") == 8
    fit = make("mechanism", "fm").fit(curator, problem, curator.ledger.budget)
    assert fit.weights[0, 0] == pytest.approx(117 / 206, rel=1e-12)


@pytest.fixture
def noisy(geometry, rows, repeated):
    """2,000 runs on 40 rows of 2 columns: little data, so that objectives are often unbounded."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (40, 2))
    return repeated(rows(geometry(2), x, np.tanh(x.sum(axis=1))), 2_000)


def fitted(sample, make, curate, epsilon, **options):
    curator = curate(sample, epsilon=epsilon)
    problem = make("model", "linear", intercept=False).prepare(curator)
    fit = make("mechanism", "fm", **options).fit(curator, problem, curator.ledger.budget)
    (answer,) = curator.tape
    query = problem.polynomial(options.get("convention", "monomial"))
    return fit, query.quadratic(answer.noisy, sample.n), answer


@pytest.mark.parametrize("convention", ["monomial", "matrix", "code"])
def test_drawn_until_bounded_every_objective_is_positive_definite(convention, noisy, make, curate) -> None:
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


def test_drawn_until_bounded_answers_follow_the_conditional_law(noisy, make, curate) -> None:
    """Against plain rejection: the 5 means over 2,000 runs, within 5.5 standard errors. False alarm 1e-6."""
    _, _, answer = fitted(noisy, make, curate, 1.0, until_bounded=True)
    _, _, plain = fitted(noisy, make, curate, 0.5)
    generator = np.random.default_rng(9)
    draws = answer.exact[0] + generator.laplace(scale=plain.noise.scale[0, 0], size=(200_000, 5))
    diagonal, off = draws[:, [0, 2]], draws[:, 1] / 2
    accepted = draws[(diagonal.min(axis=1) > 0) & (diagonal[:, 0] * diagonal[:, 1] > off**2)]
    error = np.sqrt(accepted.var(axis=0) * (1 / len(answer.noisy) + 1 / len(accepted)))
    assert (np.abs(answer.noisy.mean(axis=0) - accepted.mean(axis=0)) < 5.5 * error).all()
    apart = np.abs(answer.noisy.mean(axis=0) - plain.noisy[:, :5].mean(axis=0))  # the last number is y'y
    assert (apart > 5.5 * error)[[0, 2]].all(), "conditioning is visible"


def test_on_a_singular_design_without_visible_noise_drawing_until_bounded_ends(make, curate, table) -> None:
    """Where the noise drowns in rounding, the flat direction of a duplicate column never becomes positive definite."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (200, 2))
    train = scale(table(np.column_stack([x, x[:, 0]]), np.tanh(x.sum(axis=1))), "box", False, "real")
    curator = curate(train, epsilon=1e20)
    problem = make("model", "linear", intercept=False).prepare(curator)
    tries = 0
    until = curator.until

    def counted(query, noise, accept, max_tries=None):
        def counting(run, answer):
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
    ],
)
def test_the_ridge_and_the_repair_are_the_published_ones(repair, convention, ridge, noisy, make, curate) -> None:
    """λ = 4 sqrt(2) Δ/ε (the program: 5), then trimming; the floor is 2 std_off sqrt(D), without a ridge."""
    fit, objective, answer = fitted(noisy, make, curate, 2.0, repair=repair, convention=convention, sensitivity="paper")
    b = 2 * 3**2 / 2.0
    assert answer.noise.scale[0, 0] == b
    ridged = Quadratic(objective.matrix + ridge * 2**0.5 * b * np.eye(2), objective.linear)
    if repair == "trim":
        expected, changed = ridged.trimmed(), ~ridged.positive_definite
    else:
        floor = 2 * (b / 2**0.5) * 2**0.5
        expected, changed = ridged.floored(floor), np.linalg.eigvalsh(ridged.matrix)[:, 0] < floor
    np.testing.assert_allclose(fit.weights, expected.minimiser(), rtol=1e-7)
    np.testing.assert_array_equal(fit.status != "ok", changed)
    assert changed.any(), "the test needs repaired runs"
    np.testing.assert_array_equal(fit.health["not_positive_definite"], ~objective.positive_definite)


def test_the_ridge_option_counts_standard_deviations(noisy, make, curate) -> None:
    fit, objective, answer = fitted(noisy, make, curate, 2.0, ridge=11.0)
    ridged = objective.ridged(11 * 2**0.5 * answer.noise.scale[0, 0])
    np.testing.assert_allclose(fit.weights, ridged.trimmed().minimiser(), rtol=1e-7)


@pytest.mark.parametrize(("model", "radius"), [("linear", 10.0), ("linear", 0.5), ("ridge", 3.0)])
def test_without_repair_an_unbounded_objective_is_minimised_within_the_radius_and_called_diverged(
    model, radius, noisy, make, curate
) -> None:
    """Against 4,000 points of the circle on which the least value lies; bounded runs are left alone, wherever they end."""
    curator = curate(noisy, epsilon=0.5)
    problem = make("model", model, intercept=False).prepare(curator)
    fit = make("mechanism", "fm", ridge=0.0, repair="none", radius=radius).fit(curator, problem, curator.ledger.budget)
    objective = problem.regularised(problem.polynomial().quadratic(curator.tape[0].noisy, noisy.n))
    unbounded = np.linalg.eigvalsh(objective.matrix)[:, 0] < 0
    assert 0.1 < unbounded.mean() < 0.9, "the test needs both kinds of runs"
    np.testing.assert_array_equal(fit.status == "diverged", unbounded)
    np.testing.assert_array_equal(fit.health["not_positive_definite"], unbounded)
    angle = np.linspace(0, 2 * np.pi, 4_000)
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(np.linalg.norm(fit.weights[unbounded], axis=1), radius, rtol=1e-5)
    for run in np.flatnonzero(unbounded)[:500]:
        w, M, c = fit.weights[run], objective.matrix[run], objective.linear[run]
        best = (np.einsum("pi,ij,pj->p", circle, M, circle) + circle @ c).min()
        assert w @ M @ w + c @ w <= best + 1e-5 * abs(best)
    np.testing.assert_allclose(fit.weights[~unbounded], objective.minimiser()[~unbounded], rtol=1e-9)
    assert (np.linalg.norm(fit.weights[~unbounded], axis=1) > radius).any()


@pytest.mark.parametrize("model", ["lasso", "elastic_net"])
def test_without_repair_an_absolute_penalty_gets_the_least_ridge_that_keeps_it_within_the_radius(
    model, noisy, make, curate, repeated
) -> None:
    """f + μ‖w‖² is optimal at w for one μ, and either w lies on the sphere or μ = -λ_min makes the objective just convex."""
    sample, radius, penalty = repeated(noisy.rows(0), 16), 1.0, 0.2
    curator = curate(sample, epsilon=0.5)
    problem = make("model", model, intercept=False, penalty=penalty).prepare(curator)
    fit = make("mechanism", "fm", ridge=0.0, repair="none", radius=radius).fit(curator, problem, curator.ledger.budget)
    objective = problem.regularised(problem.polynomial().quadratic(curator.tape[0].noisy, sample.n))
    lowest = np.linalg.eigvalsh(objective.matrix)[:, 0]
    np.testing.assert_array_equal(fit.status == "diverged", lowest < 0)
    weight = penalty * sample.n[0] * {"lasso": 1.0, "elastic_net": 0.5}[model]
    on_the_sphere = []
    for run in np.flatnonzero(lowest < 0):
        w, size = fit.weights[run], np.abs(objective.linear[run]).max()
        slope = 2 * objective.matrix[run] @ w + objective.linear[run]
        moving = np.abs(w) > 1e-4
        ridges = -(slope + weight * np.sign(w))[moving] / (2 * w[moving])
        norm = np.linalg.norm(w)
        assert norm <= radius * (1 + 1e-9)
        on_the_sphere.append(norm > radius * (1 - 1e-3))
        if not on_the_sphere[-1]:
            ridges = np.append(ridges, -lowest[run])
        assert np.ptp(ridges) < 1e-2 * (np.abs(ridges).max() + size), (norm, ridges)
    assert 0 < np.mean(on_the_sphere) < 1, "the test needs both kinds"


def test_a_repaired_objective_is_never_called_diverged(noisy, make, curate) -> None:
    _, objective, _ = fitted(noisy, make, curate, 0.5, ridge=0.0, repair="none")
    repaired, _, _ = fitted(noisy, make, curate, 0.5, ridge=0.0, repair="trim")
    np.testing.assert_array_equal(repaired.status == "repaired", ~objective.positive_definite)


def test_a_capped_loop_ends_within_the_radius(noisy, make, curate) -> None:
    options = {"until_bounded": True, "max_tries": 1, "radius": 2.0, "sensitivity": "paper"}
    fit, objective, _ = fitted(noisy, make, curate, 0.5, **options)
    diverged = fit.status == "diverged"
    np.testing.assert_array_equal(diverged, ~objective.bounded)
    assert 0 < diverged.mean() < 1
    np.testing.assert_allclose(np.linalg.norm(fit.weights[diverged], axis=1), 2.0, rtol=1e-6)


@pytest.mark.parametrize("repair", ["trim", "floor"])
@pytest.mark.parametrize(("model", "absolute"), [("lasso", 0.6), ("elastic_net", 0.3)])
def test_an_absolute_penalty_is_minimised_on_the_repaired_noisy_objective(
    model, absolute, repair, noisy, make, curate, repeated
) -> None:
    """Optimality: the smooth part's slope is n λ(1 - α) against the sign of a weight, and no larger where the weight is 0."""
    sample = repeated(noisy.rows(0), 60)
    curator = curate(sample, epsilon=20.0)
    problem = make("model", model, intercept=False, penalty=0.6).prepare(curator)
    fit = make("mechanism", "fm", repair=repair, sensitivity="paper").fit(curator, problem, curator.ledger.budget)
    (answer,) = curator.tape
    b = answer.noise.scale[0, 0]
    smooth = problem.regularised(problem.polynomial().quadratic(answer.noisy, sample.n))
    repaired = smooth.ridged(4 * 2**0.5 * b).trimmed() if repair == "trim" else smooth.floored(2 * b)
    weight = absolute * sample.n[0]
    slope = 2 * np.einsum("rij,rj->ri", repaired.matrix, fit.weights) + repaired.linear
    zero = np.abs(fit.weights) < 1e-6
    size = np.abs(repaired.linear).max(axis=1, keepdims=True)
    assert (np.abs(slope + weight * np.sign(fit.weights))[~zero] < (1e-4 * size * np.ones(2))[~zero]).all()
    assert (np.abs(slope)[zero] <= (weight + 1e-4 * size * np.ones(2))[zero]).all()
    assert 0 < zero.mean() < 1, "the test needs weights of both kinds"


@pytest.mark.parametrize(
    "options",
    [
        {"sensitivity": "paper"},
        {"convention": "matrix"},
        {"convention": "code", "repair": "floor", "sensitivity": "fang"},
        {"convention": "code", "sensitivity": "code"},
    ],
)
def test_logistic_regression_is_minimised_by_its_truncation(options, make, curate, geometry, rows, repeated) -> None:
    """M = X'X/8 and c = X'(½ - y) with the noise of D²/4 + 3D, of D²/4 + D, or of the supremum."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (2_000, 3))
    y = (x.sum(axis=1) > 0).astype(float)
    sample = repeated(rows(geometry(3, target="binary"), x, y), 50)
    curator = curate(sample, epsilon=4.0)
    problem = make("model", "logistic", intercept=False).prepare(curator)
    fit = make("mechanism", "fm", ridge=0.0, **options).fit(curator, problem, curator.ledger.budget)
    (answer,) = curator.tape
    bounds = {"paper": 9 / 4 + 9, "fang": 9 / 4 + 9, "code": 9 / 4 + 3, "auto": (9 + 27) / 16 + 3 / 4}
    expected = bounds[options.get("sensitivity", "auto")]
    assert answer.noise.scale[0, 0] == pytest.approx(expected / 4.0, rel=1e-12)
    objective = problem.polynomial(options.get("convention", "monomial")).quadratic(answer.exact, sample.n)
    np.testing.assert_allclose(objective.matrix[0], x.T @ x / 8, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(objective.linear[0], x.T @ (0.5 - y), rtol=1e-12, atol=1e-12)
    noisy = problem.polynomial(options.get("convention", "monomial")).quadratic(answer.noisy, sample.n)
    clean = fit.status == "ok"
    assert clean.mean() > 0.5
    np.testing.assert_allclose(
        fit.weights[clean], -0.5 * np.linalg.solve(noisy.matrix, noisy.linear[..., None])[clean, :, 0], rtol=1e-8
    )


@pytest.mark.parametrize("model", ["linear", "ridge"])
@pytest.mark.parametrize("options", [{"repair": "trim"}, {"repair": "floor"}, {"convention": "matrix"}])
def test_permuting_features_permutes_the_exact_part_and_the_limit(model, options, make, curate, table) -> None:
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


def test_k_norm_noise_has_the_scales_of_the_ranges_and_spends_its_epsilon(
    geometry, rows, make, fit_mechanism, replay_ratios
) -> None:
    """At D = 14 the reference standard deviations are 70/ε on and 139/ε off the diagonal of M, and 2 x 139/ε on c = -2X'y."""
    g = geometry(14)
    tables = [rows(g, np.vstack([np.zeros((2, 14)), sign * np.ones(14)]), [0.5, 0, 1]) for sign in (1, -1)]
    options = {"noise": "knorm", "repair": "floor"}
    fitted = fit_mechanism("fm", tables[0], make("model", "linear", intercept=False), 0.5, **options)
    (answer,) = fitted.curator.tape
    query = fitted.problem.polynomial()
    std = np.sqrt(answer.noise.law.variance(answer.noise.scale))[0] * 0.5
    j, k = query.pairs
    entries = std[: len(j)] / np.where(j == k, 1, 2)
    np.testing.assert_allclose(entries[j == k], 69.6, atol=0.1)
    np.testing.assert_allclose(entries[j != k], 139.1, atol=0.2)
    np.testing.assert_allclose(std[len(j) :], 278.3, atol=0.3)
    assert (fitted.curator.ledger.total.epsilon, fitted.curator.ledger.total.delta) == (0.5, 0.0)
    assert replay_ratios("fm", fitted, tables[1], **options) == [pytest.approx(1.0, rel=1e-12)]


def test_printed_bounds_are_for_laplace_noise(make, geometry) -> None:
    for rule, reason in (("auto", None), ("tight", None), ("paper", "sensitivity=paper is a bound for noise=laplace")):
        assert make("mechanism", "fm", noise="knorm", sensitivity=rule).refuses(make("model", "linear"), geometry(2)) == reason
    assert make("mechanism", "fm", noise="knorm").with_sensitivity("published").sensitivity == "tight"
