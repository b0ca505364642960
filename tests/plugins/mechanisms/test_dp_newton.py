"""dp_newton: without noise it is Newton's method, its noise is that of 2T releases, and both bounds are met and never exceeded.

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
from dpbench.inference.iterates import CLIPPED_AWAY
from dpbench.plugins.mechanisms.dp_newton import BOUND_ALONE

FALSE_ALARM_RATE = 1e-6
SHAPES = [("box", (3,)), ("ball", (2,)), ("box", ())]


@pytest.fixture
def drawn(table):
    """Rows with a binary target that no plane separates."""

    def rows(scaling: str = "box", groups: tuple[int, ...] = (), n: int = 300) -> Rows:
        rng = np.random.default_rng(n)
        x = np.column_stack([rng.uniform(-1, 1, (n, 2)), *(np.eye(size)[rng.integers(size, size=n)] for size in groups)])
        y = np.clip(x @ rng.normal(0, 0.4, x.shape[1]) + rng.normal(0, 0.4, n), -1, 1)
        return scale(table(x, y, groups, threshold=0.1), scaling, True, "binary")

    return rows


def largest_square(scaling: str, groups: tuple[int, ...]) -> float:
    return 1.0 if scaling == "ball" else 3 + len(groups)


@pytest.mark.parametrize("curvature", ["bound", "hessian"])
@pytest.mark.parametrize(("scaling", "groups"), [("ball", ()), ("box", ())], ids=str)
def test_with_vanishing_noise_it_is_newton_s_method(curvature, scaling, groups, drawn, make, fit_mechanism) -> None:
    rows, clip, steps = drawn(scaling, groups), 0.4, 3
    fitted = fit_mechanism("dp_newton", rows, make("model", "logistic"), 1e22, clip=clip, steps=steps, curvature=curvature)
    x, w, move, curvatures = rows.x, np.zeros(rows.x.shape[1]), 0.0, []
    for _ in range(steps):
        score = x @ w
        p = 1 / (1 + np.exp(-score))
        parabola = np.tanh(score / 2) / (2 * score) if w.any() else np.full(len(x), 0.25)
        s = p * (1 - p) if curvature == "hessian" else parabola
        gradient = x * (p - rows.y)[:, None]
        lengths = np.linalg.norm(gradient, axis=1, keepdims=True)
        gradient *= np.minimum(1, clip * math.sqrt(largest_square(scaling, groups)) / np.maximum(lengths, 1e-300))
        curvatures.append((x * s[:, None]).T @ x)
        move = 0.4 * move - np.linalg.solve(np.mean(curvatures, axis=0), gradient.sum(axis=0))
        w = w + move
    np.testing.assert_allclose(fitted.fit.weights[0], w, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("curvature", "steps"), [("bound", 60), ("hessian", 40)])
def test_without_noise_or_clipping_it_reaches_maximum_likelihood(curvature, steps, drawn, make, fit_mechanism) -> None:
    options = {"clip": 1.0, "steps": steps, "curvature": curvature}
    fitted = fit_mechanism("dp_newton", drawn(), make("model", "logistic"), 1e24, **options)
    exact = fitted.problem.exact(fitted.curator._sample).weights
    np.testing.assert_allclose(fitted.fit.weights, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("scaling", "groups"), SHAPES, ids=str)
def test_every_release_has_the_noise_of_its_share(scaling, groups, drawn, make, fit_mechanism, repeated) -> None:
    """χ² of each coefficient of each release, over 200 runs. False alarm 1e-6."""
    runs, epsilon, steps, share = 200, 0.8, 2, 0.6
    sample = repeated(drawn(scaling, groups, n=30), runs)
    options = {"clip": 0.7, "steps": steps, "gradient_share": share}
    curator = fit_mechanism("dp_newton", sample, make("model", "logistic"), epsilon, **options).curator
    S, D = largest_square(scaling, groups), sample.geometry.dimension
    mu, growing = gdp_of_epsilon(epsilon, 1e-6), 1.3 ** np.arange(steps)
    gradient_mus = mu * np.sqrt(share * growing / growing.sum())
    released = [(j, k) for j in range(D) for k in range(j, D) if j == k or j < 3]  # a group's levels never meet
    diagonal = np.array([j == k for j, k in released])
    curvature = np.where(diagonal, math.sqrt(2), 1.0) * S / 4 / (mu * math.sqrt((1 - share) / steps))
    stds = [std for gradient_mu in gradient_mus for std in (1.4 * math.sqrt(S) / gradient_mu, curvature)]
    assert [answer.query for answer in curator.tape] == ["clipped_gradients", "curvature"] * steps
    for answer, std in zip(curator.tape, stds, strict=True):
        scores = np.square((answer.noisy - answer.exact) / std).sum(axis=0)
        tail = 2 * np.minimum(stats.chi2.cdf(scores, runs), stats.chi2.sf(scores, runs))
        assert tail.min() > FALSE_ALARM_RATE / (2 * steps * len(scores))


def test_the_ledger_is_the_budget(drawn, make, fit_mechanism) -> None:
    for epsilon, steps in ((0.1, 10), (3.0, 4)):
        ledger = fit_mechanism("dp_newton", drawn(), make("model", "logistic"), epsilon, steps=steps).curator.ledger
        mu, growing = gdp_of_epsilon(epsilon, 1e-6), 1.3 ** np.arange(steps)
        gradients = mu * np.sqrt(0.7 * growing / growing.sum())
        shares = [share for gradient in gradients for share in (gradient, mu * math.sqrt(0.3 / steps))]
        assert [entry.cost for entry in ledger.entries] == [Gdp(pytest.approx(share)) for share in shares]
        assert ledger.total.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("curvature", ["bound", "hessian"])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_a_replaced_row_moves_both_by_their_bounds_and_never_more(
    curvature, scaling, geometry, make, rows, fit_mechanism, replay_ratios
) -> None:
    """Two targets for the longest row meet the first bound, two orthogonal rows the second; random rows stay below both."""
    g = geometry(3, (), True, scaling, "binary", 1.0 if scaling == "box" else 0.5)
    rng = np.random.default_rng(2)
    longest = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0]]) * g.constant  # orthogonal, with the intercept
    near = np.vstack([longest, rng.uniform(-0.5, 0.5, (20, 3))])
    model, options, ratios = make("model", "logistic"), {"steps": 2, "curvature": curvature}, []
    others = rng.uniform(-0.5, 0.5, (10, 3))
    for one, other, y in [(0, 0, 0.0), *((at, at + 1, 1.0) for at in range(0, 20, 2))]:
        first, second = (
            rows(g, np.vstack([others, near[at]]), np.r_[np.tile([0.0, 1.0], 5), target])
            for at, target in ((one, 1.0), (other, y))
        )
        fitted = fit_mechanism("dp_newton", first, model, 1.0, **options)
        ratios.append(replay_ratios("dp_newton", fitted, second, **options))
    assert ratios[0][0] == pytest.approx(1.0)
    assert ratios[1][1] == pytest.approx(1.0)
    assert np.max(ratios) <= 1 + 1e-12


def test_the_clip_depends_on_public_facts_alone(drawn, make, fit_mechanism) -> None:
    """Γ, read off the ledger: the same for any rows of one size, and 1, which clips nothing, where noise is small."""
    signal = 20_000 * gdp_of_epsilon(1.0, 1e-6) / math.sqrt(3)
    for n, epsilon, clip in ((300, 0.3, 0.5), (20_000, 1.0, math.sqrt(signal / 5000)), (300, 1e4, 1.0)):
        rows = drawn(n=n)
        for table in (rows, Rows(np.where(np.arange(4) == 3, 0.0, rows.z), rows.geometry)):
            entry = fit_mechanism("dp_newton", table, make("model", "logistic"), epsilon, steps=1).curator.ledger.entries[0]
            assert entry.sensitivity == pytest.approx(2 * math.sqrt(3) * clip)


def test_it_is_for_logistic_regression(make, geometry) -> None:
    reason = "dp_newton does not fit linear: it is a method for logistic regression."
    assert make("mechanism", "dp_newton").unsupported(make("model", "linear"), geometry(2)) == reason


def test_with_vanishing_noise_its_intervals_are_those_of_maximum_likelihood(drawn, make, fit_mechanism) -> None:
    rows = drawn(n=3_000)
    fitted = fit_mechanism("dp_newton", rows, make("model", "logistic"), 1e22, clip=1.0, steps=30, curvature="hessian")
    exact = fitted.problem.exact(WholeSample(rows)).weights
    request = IntervalRequest(fitted.fit.weights, fitted.problem.n, "iterates", draws=4_999)
    made = fitted.fit.uncertainty.intervals(request)
    np.testing.assert_allclose(made.centre, exact, rtol=0, atol=0.02)
    np.testing.assert_allclose(made.standard_errors, fitted.problem.standard_errors(WholeSample(rows), exact), rtol=0.06)


@pytest.mark.parametrize(("options", "reason"), [({"clip": 0.5}, CLIPPED_AWAY), ({"clip": 1.0}, BOUND_ALONE)])
def test_clipped_gradients_or_a_bound_of_the_curvature_leave_no_intervals(options, reason, drawn, make, fit_mechanism) -> None:
    """Of rare features, with a bound and without clipping, .55 of a coefficient was covered; with clipping .05."""
    fitted = fit_mechanism("dp_newton", drawn(n=300), make("model", "logistic"), 3.0, **options)
    assert fitted.fit.uncertainty == reason


@pytest.mark.parametrize("which", ["rare"])
def test_more_budget_is_never_worse(which, assert_more_budget_is_never_worse) -> None:
    """Ten runs of a fixed seed at four ε; the medians have standard errors below 0.05 where ε >= 1."""
    assert_more_budget_is_never_worse("dp_newton", which)


def test_with_much_budget_little_is_lost_on_rare_events(share_lost) -> None:
    """The largest of ten runs of a fixed seed; clipping at half the largest gradient would lose 0.1."""
    assert share_lost("dp_newton", "rare", 10.0).max() < 0.05
