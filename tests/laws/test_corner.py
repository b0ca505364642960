"""Corner scaling, [0, 1/√d] without an intercept: its sensitivities are met at the attaining pairs and never exceeded."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbench.data.scaling import Rows, scale
from dpbench.privacy.queries.polynomial import Polynomial
from dpbench.privacy.queries.query import contributions
from dpbench.privacy.queries.weighted_moments import WeightedMoments

CONVENTIONS = ["monomial", "matrix", "code"]
TARGETS = {"linear": "real", "logistic": "binary"}
KAPPA = 5.0


@pytest.fixture
def polynomial(geometry, adversary):
    def built(d: int, loss: str = "linear", convention: Any = "monomial") -> Polynomial:
        return Polynomial(adversary.losses[loss], geometry(d, scaling="corner", target=TARGETS[loss]), convention)

    return built


def closed_form(d: int, loss: str, convention: str) -> float:
    s = math.sqrt(d)
    if convention == "matrix":
        if loss == "linear":
            return (d + 1) / 2 + 2 * s + 2 * d / (d + 1)
        return (d + 1) / 16 + s / 2 + d / (d + 1) if d + 1 >= 4 * s else s
    if loss == "linear":
        return (s + 1) ** 2
    return (s + 2) ** 2 / 8 if d >= 4 else s


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_tight_bound_has_its_closed_form(convention, loss, polynomial) -> None:
    for d in range(1, 30):
        assert polynomial(d, loss, convention).l1_bound("tight") == pytest.approx(closed_form(d, loss, convention), rel=1e-12)


def test_the_published_constants_stay_as_printed(polynomial) -> None:
    """At d = 13 they are 18 and 21 times the supremum."""
    assert polynomial(13).l1_bound("paper") == 2 * 14**2
    assert polynomial(13, "logistic").l1_bound("paper") == 13**2 / 4 + 39
    assert polynomial(13).l1_bound("paper") / polynomial(13).l1_bound("tight") == pytest.approx(18.48, abs=0.01)
    logistic = polynomial(13, "logistic")
    assert logistic.l1_bound("paper") / logistic.l1_bound("tight") == pytest.approx(20.69, abs=0.01)


@pytest.mark.parametrize(("loss", "convention", "share"), [
    ("linear", "monomial", lambda d: 1 / math.sqrt(d)),
    ("linear", "code", lambda d: 1 / math.sqrt(d)),
    ("linear", "matrix", lambda d: 2 * math.sqrt(d) / (d + 1)),
    ("logistic", "monomial", lambda d: min(2 / math.sqrt(d), 1)),
    ("logistic", "code", lambda d: min(2 / math.sqrt(d), 1)),
    ("logistic", "matrix", lambda d: min(4 * math.sqrt(d) / (d + 1), 1)),
])  # fmt: skip
def test_the_attaining_pair_meets_the_tight_bound(loss, convention, share, polynomial, adversary, rows) -> None:
    """x = (1, …, 1)/√d and y = 1, against a share of x and the other target."""
    for d in (1, 2, 3, 4, 5, 9, 13, 16, 25):
        query = polynomial(d, loss, convention)
        x = np.full(d, 1 / math.sqrt(d))
        first, second = rows(query.geometry, x, 1), rows(query.geometry, share(d) * x, -1 if loss == "linear" else 0)
        assert adversary.moved(query, first, second)[0] == pytest.approx(query.l1_bound("tight"), rel=1e-12)


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_bound_is_met_and_has_its_closed_form_whatever_the_two_scales(loss, convention, polynomial, adversary) -> None:
    """√d takes the place of D in the box's closed form; the pair is found by a search that knows no formula."""
    for d, b_q, b_l in product((1, 2, 3, 5, 13), (0.02, 0.3, 1.0, 2.5, 7.0, 40.0), (0.2, 1.7)):
        query = polynomial(d, loss, convention)
        bound = query.l1_bound("tight", b_q, b_l)
        assert adversary.along(query, query.scales(b_q, b_l)) == pytest.approx(bound, rel=1e-9)
        if convention != "matrix":
            s, r = math.sqrt(d), b_q / b_l
            linear = (s / b_q**0.5 + b_q**0.5 / b_l) ** 2 if r <= s else 4 * s / b_l
            logistic = (s / (2 * b_q**0.5) + b_q**0.5 / b_l) ** 2 / 2 if r <= s / 2 else s / b_l
            assert bound == pytest.approx({"linear": linear, "logistic": logistic}[loss], rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_brute_force_over_a_grid_agrees_with_the_closed_form(d, loss, convention, polynomial, adversary) -> None:
    """Every pair of rows on a grid that holds the attaining one, up to permutation: its largest move is the bound."""
    query = polynomial(d, loss, convention)
    s = math.sqrt(d)
    share = 2 * s / (d + 1) if convention == "matrix" else 1 / s
    share *= 2 if loss == "logistic" else 1
    grid = np.unique(np.append(np.linspace(0, 1, {1: 41, 2: 11, 3: 4}[d]), min(share, 1))) / s
    cells = np.array(list(product(grid, grid)))  # the pairs (x_j, x'_j) of one column
    kinds = np.array(list(combinations_with_replacement(range(len(cells)), d)))
    low = -1.0 if loss == "linear" else 0.0
    most = 0.0
    for y, other in ((1.0, low), (1.0, 1.0), (low, low)):
        pair = (
            Rows(np.column_stack([np.ones(len(kinds)), cells[kinds, side], np.full(len(kinds), target)]), query.geometry)
            for side, target in ((0, y), (1, other))
        )
        most = max(most, float(adversary.moved(query, *pair).max()))
    assert most == pytest.approx(query.l1_bound("tight"), rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5, 13])
@pytest.mark.parametrize("loss", TARGETS)
def test_no_neighbours_move_the_coefficients_by_more_than_any_declared_bound(d, loss, polynomial, adversary) -> None:
    """10,000 adversarial pairs for every convention, sensitivity and several pairs of scales."""
    for convention in CONVENTIONS:
        query = polynomial(d, loss, convention)
        first, second = adversary.hostile(query)
        assert first.x.min() >= 0
        assert max(first.x.max(), second.x.max()) <= query.geometry.value_range[1]
        worst = adversary.moved(query, first, second).max()
        assert 0.9 * query.l1_bound("tight") <= worst <= query.l1_bound("tight") * (1 + 1e-12)
        assert query.l1_bound("tight") < min(query.l1_bound(published) for published in ("paper", "fang", "code"))
        for b_q in (0.1, 5.0, 50.0):
            worst = adversary.moved(query, first, second, query.scales(b_q, 1.0)).max()
            assert worst <= query.l1_bound("tight", b_q, 1.0) * (1 + 1e-12)


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("d", [1, 3, 5, 9, 13])
def test_rescaled_columns_have_their_closed_form_and_a_search_meets_and_never_exceeds_it(d, loss, polynomial, adversary) -> None:
    """S = Σ q_j/√d: (S + 1)² for S ≥ 1, else 4S; (S + 2)²/8 for S ≥ 2, else S. The searches know no formula."""
    generator = np.random.default_rng(d)
    query = polynomial(d, loss)
    first, second = adversary.hostile(query)
    for spread in (0.3, 1.0, 3.0):
        q = np.exp(generator.uniform(-spread, spread, d))
        S = q.sum() / math.sqrt(d)
        linear, logistic = (S + 1) ** 2 if S >= 1 else 4 * S, (S + 2) ** 2 / 8 if S >= 2 else S
        bound = float(query.rescaled_bound(q))
        assert bound == pytest.approx({"linear": linear, "logistic": logistic}[loss], rel=1e-12)
        assert adversary.along(query, 1 / query.products(q)) == pytest.approx(bound, rel=1e-9)
        assert adversary.moved(query, first, second, 1 / query.products(q)).max() <= bound * (1 + 1e-12)


def test_without_some_columns_the_bound_keeps_the_scale_of_the_whole_table(polynomial, geometry, adversary) -> None:
    """m of d columns: S = m/√d. With the scale of m columns it would be √m, which these rows stay far below."""
    for m, d in ((2, 4), (3, 9), (10, 13)):
        whole = geometry(d, scaling="corner")
        rest = Polynomial(adversary.losses["linear"], whole.without([f"x{index}" for index in range(m, d)]))
        assert rest.l1_bound("tight") == pytest.approx((m / math.sqrt(d) + 1) ** 2, rel=1e-12)
        assert adversary.along(rest) == pytest.approx(rest.l1_bound("tight"), rel=1e-9)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("d", [9, 13])
def test_one_pair_spends_all_of_dpc_s_budget_with_the_tight_bound(d, k, make, curate, geometry, rows, adversary) -> None:
    """x = (1, …, 1)/√d, y = 1 against 1/(d - k) in the ordinary columns, 0 in the sensitive ones, y' = -1: whatever γ."""
    g = geometry(d, scaling="corner")
    other = np.r_[np.zeros(k), np.full(d - k, 1 / (d - k))]
    for gamma in (0.001, 0.1, 1.0):
        dpc = make("mechanism", "dpc", sensitive=g.columns[:k], gamma=gamma, sensitivity="tight")
        curator = curate(rows(g, np.zeros((3, d)), np.zeros(3)), epsilon=0.7)
        problem = make("model", "linear", intercept=False).prepare(curator)
        dpc.fit(curator, problem, curator.ledger.budget)
        (answer,) = curator.tape
        first = rows(g, np.full(d, 1 / math.sqrt(d)), 1)
        moved = adversary.moved(problem.polynomial(), first, rows(g, other, -1), answer.noise.scale)
        assert moved[0] == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5, 13])
def test_no_neighbours_move_what_a_mechanism_releases_by_more_than_it_pays_for(d, make, curate, geometry, adversary) -> None:
    """Every option of fm and dpba: sup ‖change / scale‖₁ of the noise that was drawn is at most the bound that was paid."""
    g = geometry(d, scaling="corner")
    some = adversary.neighbours(g, np.random.default_rng(3)).rows(50)
    chosen = [("fm", {"convention": c, "sensitivity": s}) for c, s in product(CONVENTIONS, ["paper", "fang", "code", "tight"])]
    chosen += [("dpba", {"alpha": alpha}) for alpha in ("paper", "opt", 0.05, 0.95)]
    for name, options in chosen:
        curator = curate(some, epsilon=0.7)
        problem = make("model", "linear", intercept=False).prepare(curator)
        make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
        (answer,) = curator.tape
        query = problem.polynomial(options.get("convention", "monomial"))
        worst = adversary.moved(query, *adversary.hostile(query), answer.noise.scale).max()
        assert answer.noise.bound == 0.7
        assert worst <= 0.7 * (1 + 1e-12), f"{name} {options}: {worst}"
        if options == {"alpha": "opt"}:
            assert adversary.along(query, answer.noise.scale) == pytest.approx(0.7, rel=1e-9)


def weighted(geometry: Any, weights: np.ndarray | float) -> WeightedMoments:
    """Rows that weigh what they are told to."""
    state = np.zeros((1, geometry.dimension))
    return WeightedMoments(geometry, lambda residuals: weights * np.ones(len(residuals)), state, KAPPA)


def euclidean(geometry: Any, first: Rows, second: Rows, s: Any, t: Any) -> np.ndarray:
    """(‖change of B‖_F² + ‖change of A‖²)^½ of each pair, with weights s and t."""
    query = weighted(geometry, KAPPA)
    change = contributions(weighted(geometry, s), first, 0) - contributions(weighted(geometry, t), second, 0)
    return np.asarray(np.linalg.norm(change / query.spread(1.0), axis=1))


@pytest.mark.parametrize("removed", [0, 1])
@pytest.mark.parametrize("d", [2, 3, 5, 13])
def test_no_neighbours_of_any_weights_move_more_than_the_l2_bound_and_one_pair_meets_it(
    d, removed, geometry, rows, adversary
) -> None:
    """2κ of the whole table, at x = x' = (1, …, 1)/√d with y and -y; 2κ √(m/d) of m of its d columns."""
    g = geometry(d, scaling="corner").without([f"x{index}" for index in range(removed)])
    bound = weighted(g, KAPPA).l2_bound
    assert bound == pytest.approx(2 * KAPPA * math.sqrt((d - removed) / d), rel=1e-12)
    x, full = np.full(d - removed, 1 / math.sqrt(d)), np.full(1, KAPPA)
    assert euclidean(g, rows(g, x, 1), rows(g, x, -1), full, full)[0] == pytest.approx(bound, rel=1e-12)
    rng = np.random.default_rng(0)
    near = adversary.neighbours(g, rng)
    first, second = near.rows(20_000), near.rows(20_000)
    s, t = KAPPA * np.minimum(1, rng.uniform(0, 2, (2, 20_000)))
    best = euclidean(g, first, second, s, t)
    assert best.max() <= bound * (1 + 1e-12)
    kept = np.argsort(best)[-200:]
    first, second, s, t, best = first.take(kept), second.take(kept), s[kept], t[kept], best[kept]
    for _ in range(60):
        a, b = near.nudged(first), near.nudged(second)
        u, v = np.clip(np.stack([s, t]) + rng.normal(0, 0.1 * KAPPA, (2, 200)), 0, KAPPA)
        now = euclidean(g, a, b, u, v)
        better = now > best
        first = Rows(np.where(better[:, None], a.z, first.z), g)
        second = Rows(np.where(better[:, None], b.z, second.z), g)
        s, t, best = np.where(better, u, s), np.where(better, v, t), np.maximum(best, now)
    assert 0.9 * bound <= best.max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("sensitivity", ["paper", "fang", "tight"])
def test_the_noise_of_fm_has_the_variance_of_its_sensitivity(sensitivity, geometry, rows, repeated, make, curate) -> None:
    """2 Σ|noise| / b is exactly χ²(2 runs) for each coefficient, bε = 50, 48 or (√4 + 1)². False alarm 1e-6."""
    g, runs, epsilon = geometry(4, scaling="corner"), 20_000, 0.8
    curator = curate(repeated(rows(g, np.zeros((4, 4)), np.zeros(4)), runs), epsilon=epsilon)
    problem = make("model", "linear", intercept=False).prepare(curator)
    make("mechanism", "fm", sensitivity=sensitivity).fit(curator, problem, curator.ledger.budget)
    (answer,) = curator.tape
    total = 2 * np.abs(answer.noisy).sum(axis=0) / ({"paper": 50.0, "fang": 48.0, "tight": 9.0}[sensitivity] / epsilon)
    tail = 2 * np.minimum(stats.chi2.cdf(total, 2 * runs), stats.chi2.sf(total, 2 * runs))
    assert tail.min() > 1e-6 / answer.noisy.shape[1]


@pytest.mark.parametrize("name", ["privr", "dpc", "drop_sensitive", "cdp_irls"])
def test_with_vanishing_noise_the_fit_is_least_squares(name, table, make, curate) -> None:
    """Of the columns that are left, in drop_sensitive's case."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (300, 4))
    rows = scale(table(x, np.tanh(x @ [1.0, -0.5, 0.2, 0.7])), "corner", False, "real")
    options = {"dpc": {"sensitive": ("x1",)}, "drop_sensitive": {"sensitive": ("x1",), "base": "fm"}}.get(name, {})
    mechanism = make("mechanism", name, **options)
    curator = curate(rows, epsilon=1e13 if name != "cdp_irls" else 1e20, currency=mechanism.counted())
    fit = mechanism.fit(curator, make("model", "linear", intercept=False).prepare(curator), curator.ledger.budget)
    kept = [0, 2, 3] if name == "drop_sensitive" else [0, 1, 2, 3]
    expected = np.zeros(4)
    expected[kept] = np.linalg.lstsq(rows.x[:, kept], rows.y, rcond=None)[0]
    np.testing.assert_allclose(fit.weights[0], expected, rtol=0, atol=1e-7)
