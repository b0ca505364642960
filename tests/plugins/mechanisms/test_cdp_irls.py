"""Private IRLS: the sound variant keeps its word, and the published one does not.

A statistical test here rejects a correct implementation with probability at most 1e-6 over the choice of its seed, which is
fixed.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from dpbench.accounting.conversion import epsilon_of_zcdp
from dpbench.accounting.costs import Gdp, Pure
from dpbench.data.geometry import Geometry
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import Rows, scale, truncate
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws

FALSE_ALARM_RATE = 1e-6
SOUND = [{"distribution": distribution} for distribution in ("gaussian", "laplace")]
PUBLISHED: list[dict[str, Any]] = [
    {"variant": "published", "distribution": distribution, "composition": composition}
    for distribution, composition in product(("gaussian", "laplace"), ("cdp", "conventional", "advanced"))
    if (distribution, composition) != ("gaussian", "conventional")
]


class RecordingCurator(Curator):
    """A curator that remembers what it said without a proof."""

    def unproven(self, query: Any, sampler: Any, claimed: Any, reason: str) -> np.ndarray:
        answer = super().unproven(query, sampler, claimed, reason)
        self.said = [*getattr(self, "said", []), answer]
        return answer


@pytest.fixture
def fitted(make):
    """A fit of a model on a sample (or rows), with its curator."""

    def run(sample: Any, model: str = "robust", epsilon: float = 1.0, seed: int = 0, change: Any = None, **options: Any):
        sample = WholeSample(sample) if isinstance(sample, Rows) else sample
        mechanism = make("mechanism", "cdp_irls", **options)
        runs = [(run, 0) for run in range(sample.runs)]
        curator = RecordingCurator(sample, Draws(seed, "test", runs), Budget(epsilon, 1e-6, mechanism.counted()))
        curator.tape = []
        problem = make("model", model, intercept=sample.geometry.intercept).prepare(curator)
        if change is not None:
            problem.irls_weights = change
        return mechanism.fit(curator, problem, curator.ledger.budget), curator

    return run


@pytest.fixture
def drawn(table):
    """Rows with heavy tails."""

    def rows(n: int = 400, d: int = 3, scaling: str = "box", intercept: bool = True, groups: tuple[int, ...] = ()) -> Rows:
        rng = np.random.default_rng(n)
        x = np.column_stack([rng.uniform(-1, 1, (n, d)), *(np.eye(size)[rng.integers(size, size=n)] for size in groups)])
        y = np.clip(0.2 + x @ rng.normal(0, 0.3, x.shape[1]) + 0.05 * rng.standard_t(2, n), -1, 1)
        return scale(table(x, y, groups), scaling, intercept, "real")

    return rows


def note(n: int, seed: int, d: int = 10) -> Rows:
    """Park and Welling's section 4: x ~ N(0, I) and y ~ N(Xθ, 0.01), each divided by its largest norm."""
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(n, d)), rng.normal(size=d)
    x /= np.linalg.norm(x, axis=1).max()
    y = x @ weights + 0.1 * rng.normal(size=n)
    y /= np.abs(y).max()
    geometry = Geometry(tuple(f"x{j}" for j in range(d)), (), False, "ball", "real")
    return Rows(np.column_stack([np.ones(n), truncate(x, 16), truncate(y, 16)]), geometry)


def iterated(rows: Rows, steps: int, kappa: float) -> np.ndarray:
    """IRLS without noise, written from equations 1 and 2 alone."""
    w = np.zeros(rows.x.shape[1])
    for _ in range(steps):
        s = 1 / np.maximum(1 / kappa, np.abs(rows.y - rows.x @ w))
        root = np.sqrt(s)[:, None]
        w = np.linalg.lstsq(root * rows.x, root[:, 0] * rows.y, rcond=None)[0]
    return w


# -- the limits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [*SOUND, {"variant": "published"}, PUBLISHED[2]], ids=str)
@pytest.mark.parametrize(("scaling", "groups"), [("box", ()), ("ball", ()), ("box", (3,))])
def test_with_vanishing_noise_it_is_plain_irls_and_least_squares(options, scaling, groups, drawn, fitted) -> None:
    """``advanced`` has no such limit: its ε' grows with the logarithm of ε."""
    rows = drawn(scaling=scaling, groups=groups)
    for steps, kappa in ((1, 5.0), (4, 30.0)):
        fit, _ = fitted(rows, "robust", 1e26, iterations=steps, kappa=kappa, **options)
        np.testing.assert_allclose(rows.x @ fit.weights[0], rows.x @ iterated(rows, steps, kappa), rtol=0, atol=1e-6)
    fit, curator = fitted(rows, "linear", 1e26, **options)
    exact = np.linalg.lstsq(rows.x, rows.y, rcond=None)[0]
    np.testing.assert_allclose(rows.x @ fit.weights[0], rows.x @ exact, rtol=0, atol=1e-6)
    assert len(curator.ledger.entries) == (2 if "variant" in options else 1), "one step for any J"


def test_many_steps_reach_huber_s_estimator_and_with_a_large_kappa_least_absolute_deviations(drawn, fitted, make, curate) -> None:
    rows = drawn()
    kappa = 8.0

    def huber(w: np.ndarray) -> float:
        size = np.abs(rows.y - rows.x @ w)
        return float(np.where(size < 1 / kappa, kappa * size**2 / 2, size - 1 / (2 * kappa)).sum())

    fit, _ = fitted(rows, epsilon=1e20, iterations=300, kappa=kappa)
    best = optimize.minimize(huber, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(fit.weights[0], best.x, atol=1e-5)
    near, _ = fitted(rows, epsilon=1e20, iterations=300, kappa=1e4)
    exact = make("model", "robust").prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    errors = [np.abs(rows.y - rows.x @ w).sum() for w in (near.weights[0], exact)]
    assert errors[1] * (1 - 1e-9) <= errors[0] <= errors[1] * (1 + 1e-3)


# -- the noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("model", ["robust", "linear"])
def test_every_released_number_has_the_noise_of_its_place(scaling, model, geometry, rows, repeated, fitted) -> None:
    """χ² for Gaussian noise (off the diagonal of B half the variance), and for 2Σ|x|/b of Laplace noise. False alarm 1e-6."""
    runs, D, epsilon = 2_000, 4, 0.7
    g = geometry(3, intercept=True, scaling=scaling, constant=1.0 if scaling == "box" else 0.5)
    sample = repeated(rows(g, np.zeros((4, 3)), np.zeros(4)), runs)
    kappa, steps = (5.0, 3) if model == "robust" else (1.0, 1)
    noised = np.array([(j, k) for j in range(D) for k in range(D) if j <= k][model == "linear" :])
    diagonal = np.r_[noised[:, 0] == noised[:, 1], np.ones(D, dtype=bool)]
    joint = kappa * (np.sqrt(4.5) if scaling == "ball" else np.sqrt(2 * D * (D + 1)))
    sigma = joint / np.sqrt(2 * epsilon / steps)
    _, curator = fitted(sample, model, epsilon, iterations=steps)
    assert len(curator.tape) == steps
    _, pure = fitted(sample, model, epsilon, iterations=steps, distribution="laplace")
    for answer, other in zip(curator.tape, pure.tape, strict=True):
        scores = np.square(answer.noisy - answer.exact).sum(axis=0) / np.where(diagonal, sigma**2, sigma**2 / 2)
        tail = 2 * np.minimum(stats.chi2.cdf(scores, runs), stats.chi2.sf(scores, runs))
        assert tail.min() > FALSE_ALARM_RATE / (2 * steps * len(scores))
        scores = 2 * np.abs(other.noisy - other.exact).sum(axis=0) / (float(other.noise.sensitivity) * steps / epsilon)
        tail = 2 * np.minimum(stats.chi2.cdf(scores, 2 * runs), stats.chi2.sf(scores, 2 * runs))
        assert tail.min() > FALSE_ALARM_RATE / (2 * steps * len(scores))
        assert len(scores) == len(diagonal)
        if (scaling, model) == ("box", "robust"):
            assert other.noise.sensitivity == pytest.approx(kappa * ((D * D + 3 * D) / 2 + D / (2 * (D + 1))), rel=1e-12)


@pytest.mark.parametrize("options", [*SOUND, {"variant": "published"}], ids=str)
def test_a_run_s_bits_depend_on_its_seed_and_not_on_its_block(options, drawn, make, split) -> None:
    rows = drawn(600)
    mechanism = make("mechanism", "cdp_irls", **options)

    def weights(repeats: Any, seed: int = 0) -> np.ndarray:
        block = split(rows, repeats)
        curator = Curator(block.train, Draws(seed, "t", block.runs), Budget(2.0, 1e-6, mechanism.counted()))
        problem = make("model", "robust").prepare(curator)
        return np.asarray(mechanism.fit(curator, problem, curator.ledger.budget).weights)

    together = weights(range(4))
    np.testing.assert_array_equal(together, weights(range(4)))
    np.testing.assert_array_equal(together, np.concatenate([weights([repeat]) for repeat in range(4)]))
    assert not np.isclose(together, weights(range(4), seed=1)).any()


def test_steps_do_not_share_their_noise(geometry, rows, fitted) -> None:
    _, curator = fitted(rows(geometry(3), np.zeros((4, 3)), np.zeros(4)))
    drawn = np.concatenate([((answer.noisy - answer.exact) / answer.noise.scale)[0] for answer in curator.tape])
    assert np.unique(drawn).size == drawn.size == 5 * 9


# -- what it costs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["robust", "linear"])
@pytest.mark.parametrize("epsilon", [0.05, 0.9, 40.0])
def test_the_sound_variant_spends_exactly_its_budget(model, epsilon, drawn, fitted) -> None:
    steps = 5 if model == "robust" else 1
    _, gaussian = fitted(drawn(), model, epsilon)
    mu = pytest.approx(np.sqrt(2 * epsilon / steps), rel=1e-12)
    assert [entry.cost for entry in gaussian.ledger.entries] == [Gdp(mu)] * steps
    ledger = gaussian.ledger
    assert ledger.budget.currency == "zcdp"
    assert ledger.budget.spent([entry.cost for entry in ledger.entries]) == pytest.approx(epsilon, rel=1e-12)
    assert gaussian.ledger.total.epsilon > epsilon, "ρ is not ε"
    _, laplace = fitted(drawn(), model, epsilon, distribution="laplace")
    assert [entry.cost for entry in laplace.ledger.entries] == [Pure(pytest.approx(epsilon / steps, rel=1e-12))] * steps
    assert (laplace.ledger.total.epsilon, laplace.ledger.total.delta) == (pytest.approx(epsilon, rel=1e-12), 0.0)
    assert gaussian.ledger.sound
    assert laplace.ledger.sound


@pytest.mark.parametrize("model", ["robust", "linear"])
def test_the_accounted_epsilon_is_that_of_the_worst_pair_of_rows_and_no_larger(model, geometry, rows, fitted) -> None:
    """ε = 1.9945 at ρ = 0.1 and δ = 1e-6, where the conversion from ρ gives 2.142.

    Independent of the accountant: the largest move of each answer over pairs of rows of a grid, in units of the noise that was
    drawn, is a shift of a normal law; its δ(ε) is an integral over that law's density.
    """
    weight = 5.0 if model == "robust" else 1.0
    _, curator = fitted(rows(geometry(2), [[1.0, 1.0]], [1.0]), model, 0.1)
    grid = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))  # (x1, x2, y)
    first, second = np.triu_indices(2)
    answers = weight * np.c_[grid[:, first] * grid[:, second], grid[:, :2] * grid[:, 2:]]
    moves = [np.linalg.norm((answers[:, None] - answers) / a.noise.scale[0], axis=-1).max() for a in curator.tape]
    assert len(moves) == (5 if model == "robust" else 1)
    mu = np.linalg.norm(moves)

    def delta(epsilon: float) -> float:
        start = epsilon / mu + mu / 2  # where the density of N(μ, 1) exceeds e^ε times that of N(0, 1)
        excess = lambda x: stats.norm.pdf(x, mu) - np.exp(epsilon) * stats.norm.pdf(x)  # noqa: E731
        return float(integrate.quad(excess, start, start + 12, epsabs=0)[0])

    exact = optimize.brentq(lambda epsilon: delta(epsilon) - 1e-6, 0.1, 10, xtol=1e-12)
    assert exact == pytest.approx(1.9945, abs=5e-5)
    assert curator.ledger.total.epsilon == pytest.approx(exact, rel=1e-7)
    assert epsilon_of_zcdp(0.1, 1e-6) == pytest.approx(2.142, abs=5e-4)


@pytest.mark.parametrize("options", PUBLISHED, ids=str)
@pytest.mark.parametrize("epsilon", [0.01, 0.9, 100.0])
def test_the_published_variant_is_never_sound_and_never_overspends_its_claim(options, epsilon, drawn, fitted) -> None:
    for model, steps in (("robust", 5), ("linear", 1)):
        fit, curator = fitted(drawn(), model, epsilon, **options)
        ledger = curator.ledger
        assert np.isfinite(fit.weights).all()
        assert not ledger.sound
        assert [entry.sound for entry in ledger.entries] == [True, False] * steps
        assert "intersection of the supports" in ledger.entries[1].proof
        spent = ledger.budget.spent([entry.cost for entry in ledger.entries])
        assert spent <= epsilon * (1 + 1e-9)
        if options["composition"] != "advanced" and options["distribution"] == "laplace":
            assert spent == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("scaling", "l1", "l2"), [("ball", 2.0, 1.0), ("box", 4.0, 2.0)])
def test_the_published_noise_on_a_is_the_printed_one(scaling, l1, l2, geometry, rows, fitted) -> None:
    """Laplace(2κ√d/ε'), N(0, (c 2κ/ε')²), with the three ε'; in the box ‖x‖₁ ≤ 4 and ‖x‖₂ ≤ 2. J = 3, κ = 2, d = 4."""
    J, kappa, epsilon, delta = 3, 2.0, 0.9, 1e-6
    g = rows(geometry(4, scaling=scaling), np.zeros((4, 4)), np.zeros(4))
    for options in PUBLISHED:
        _, curator = fitted(g, epsilon=epsilon, iterations=J, kappa=kappa, **options)
        (scale,) = {float(answer.noise.scale.squeeze()) for answer in curator.tape if answer.noise is not None}
        gaussian = options["distribution"] == "gaussian"
        c = np.sqrt(2 * np.log(1.25 / (delta / (2 * J))))
        each = c * 2 * kappa * l2 / scale if gaussian else 2 * kappa * l1 / scale
        if options["composition"] == "cdp":
            assert each == pytest.approx(np.sqrt(epsilon / J), rel=1e-12)
        elif options["composition"] == "conventional":
            assert each == pytest.approx(epsilon / (2 * J), rel=1e-12)
        else:
            share = delta / 2 if gaussian else delta
            total = np.sqrt(4 * J * np.log(1 / share)) * each + 2 * J * each * np.expm1(each)
            assert total == pytest.approx(epsilon, rel=1e-9)


# -- Wishart noise hides nothing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize(("each", "model"), [(0.1, "robust"), (0.3, "robust"), (0.949, "linear"), (2.0, "robust")])
def test_published_answers_are_impossible_on_a_neighbour_as_often_as_the_law_says(
    d, each, model, geometry, rows, repeated, fitted
) -> None:
    """B~ of the table without v is not above B of the table with it: 1 - exp(-ε') of 3,000 runs, exactly. False alarm 1e-6.

    And on the table with v it is never below, so who sees such an answer knows which table it was.
    """
    runs, kappa = 3_000, 5.0 if model == "robust" else 1.0
    g = geometry(d, scaling="ball")
    v = np.ones(d) / np.sqrt(d)
    without, with_v = rows(g, np.zeros((3, d)), np.zeros(3)), rows(g, np.vstack([v, np.zeros((2, d))]), np.zeros(3))
    steps = {"variant": "published", "distribution": "laplace", "iterations": 1, "kappa": 5.0}
    impossible = []
    for table in (without, with_v):
        _, curator = fitted(repeated(table, runs), model, epsilon=each**2, **steps)
        (noisy,) = curator.said
        below = np.linalg.eigvalsh(noisy - kappa * np.outer(v, v))[:, 0]
        impossible.append(int((below < -1e-9 * kappa).sum()))
    assert stats.binomtest(impossible[0], runs, 1 - np.exp(-each)).pvalue > FALSE_ALARM_RATE
    assert impossible[1] == 0


def test_wishart_noise_has_the_printed_mean(geometry, rows, repeated, fitted) -> None:
    """E ZZ' = (d + 1) κ/(2ε') I: sums of squares are χ². False alarm 1e-6."""
    runs, d, epsilon = 2_000, 4, 0.8
    sample = repeated(rows(geometry(d, scaling="ball"), np.zeros((3, d)), np.zeros(3)), runs)
    _, curator = fitted(sample, epsilon=epsilon, variant="published", iterations=2, kappa=3.0)
    variance = 3.0 / (2 * np.sqrt(epsilon / 2))
    for noisy in curator.said:
        totals = noisy[:, range(d), range(d)].sum(axis=0) / variance
        freedom = runs * (d + 1)
        tail = 2 * np.minimum(stats.chi2.cdf(totals, freedom), stats.chi2.sf(totals, freedom))
        assert tail.min() > FALSE_ALARM_RATE / (2 * d)


@pytest.mark.parametrize("n", [1_000, 10_000])
def test_the_sound_variant_is_also_the_more_accurate_one(n, fitted, make, curate) -> None:
    """Section 4's data at ε = 0.9, medians of 6: measured 1.5 and 0.40 at N = 1,000, 0.16 and 0.04 at N = 10,000."""
    errors: dict[str, list[float]] = {"published": [], "sound": []}
    for seed in range(6):
        rows = note(n, seed)
        exact = rows.x @ make("model", "robust", intercept=False).prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
        for variant, values in errors.items():
            options = {"distribution": "laplace"} if variant == "published" else {}
            fit, _ = fitted(rows, epsilon=0.9, seed=seed, variant=variant, **options)
            values.append(np.linalg.norm(rows.x @ fit.weights[0] - exact) / np.linalg.norm(exact))
    assert np.median(errors["published"]) > 2 * np.median(errors["sound"])


# -- options -------------------------------------------------------------------------------------------------------


def test_weights_stay_finite_at_any_budget(drawn, fitted) -> None:
    rows = drawn(60, groups=(3,))
    for options, epsilon in product([*SOUND, *PUBLISHED], (1e-4, 0.01, 100.0)):
        fit, _ = fitted(rows, epsilon=epsilon, **options)
        assert np.isfinite(fit.weights).all()
        if "variant" not in options and epsilon < 1:
            assert fit.status.tolist() == ["repaired"]
            assert set(fit.health) >= {"not_positive_definite"}


@pytest.mark.parametrize("scaling", ["box", "ball"])
@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
def test_eigenvalues_are_raised_to_the_size_of_the_noise(distribution, scaling, geometry, rows, repeated, fitted) -> None:
    """2 std √D of B's entries off the diagonal (2σ√(D/2) if Gaussian), and w = B~⁻¹A~ of the last answer on the tape."""
    runs, D = 50, 4
    sample = repeated(rows(geometry(D, scaling=scaling), np.zeros((5, D)), np.zeros(5)), runs)
    fit, curator = fitted(sample, distribution=distribution)
    answer = curator.tape[-1]
    j, k = np.triu_indices(D)
    std = float(np.sqrt(np.broadcast_to(answer.noise.law.variance(answer.noise.scale), (1, answer.noisy.shape[1]))[0, 1]))
    B = np.zeros((runs, D, D))
    B[:, j, k] = B[:, k, j] = answer.noisy[:, :-D]
    values, vectors = np.linalg.eigh(B)
    values = np.maximum(values, 2 * std * np.sqrt(D))
    expected = np.einsum("rij,rj,rkj,rk->ri", vectors, 1 / values, vectors, answer.noisy[:, -D:])
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-9)
    assert (fit.status == "repaired").all()
    if distribution == "gaussian":
        joint = 5.0 * (np.sqrt(4.5) if scaling == "ball" else np.sqrt(2 * D * (D + 1)))
        assert 2 * std * np.sqrt(D) == pytest.approx(2 * joint / np.sqrt(2 / 5) * np.sqrt(D / 2), rel=1e-12)


@pytest.mark.parametrize("options", [*SOUND, *PUBLISHED], ids=str)
def test_a_cell_gets_its_budget_in_its_currency(options, make, run_cell) -> None:
    """In a work unit, which refuses a budget in the wrong currency as overspent."""
    mechanism = make("mechanism", "cdp_irls", **options)
    _, (part,) = run_cell("cdp_irls", "gaussian", **options)
    assert part.ledger is not None
    assert part.ledger.budget.currency == mechanism.counted()
    assert np.isfinite(part.runs["utility/log_likelihood"]).all()


def test_the_currency_of_the_budget_follows_the_options(make) -> None:
    def counted(**options: Any) -> str:
        return str(make("mechanism", "cdp_irls", **options).counted())

    assert counted() == "zcdp"
    assert counted(distribution="laplace") == "pure"
    published = {"variant": "published", "distribution": "laplace"}
    assert [counted(composition=c, **published) for c in ("cdp", "conventional", "advanced")] == ["zcdp", "pure", "approx"]


def test_options_that_contradict_each_other_are_pruned_with_a_sentence(make, geometry) -> None:
    def reason(model: str = "robust", **options: Any) -> str | None:
        answer = make("mechanism", "cdp_irls", **options).unsupported(make("model", model), geometry(2))
        return None if answer is None else str(answer)

    assert reason("linear") is None
    assert reason("robust", variant="published") is None
    for model in ("ridge", "lasso", "elastic_net", "logistic"):
        assert "provides no reweighted" in str(reason(model))
    assert "belongs to variant=published" in str(reason(composition="advanced"))
    assert "needs distribution=laplace" in str(reason(variant="published", composition="conventional"))
    assert reason(variant="published", composition="conventional", distribution="laplace") is None


@pytest.mark.parametrize("model", ["linear", "robust"])
def test_the_log_likelihood_is_that_of_the_test_rows_at_their_likeliest_variance(
    model, drawn, make, curate, score, score_mean
) -> None:
    rows = drawn()
    problem = make("model", model).prepare(curate(rows))
    weights = np.array([[0.1, 0.2, -0.1, 0.3]])
    metrics = score(model, weights, WholeSample(rows))

    def mean(variance: float) -> float:
        return float(problem.log_likelihood(rows.x, rows.y, weights[0], variance).mean())

    mse = float(metrics["mse"][0])
    assert metrics["log_likelihood"][0] == pytest.approx(mean(mse), rel=1e-9)
    assert mean(mse) > max(mean(0.9 * mse), mean(1.1 * mse))
    assert score_mean(model, WholeSample(rows), WholeSample(rows))["log_likelihood"][0] < mean(mse) + 10


def test_a_perfect_prediction_has_a_finite_log_likelihood(geometry, rows, make, curate, score) -> None:
    z = rows(geometry(1), [[0.5], [-1.0]], [0.25, -0.5])
    assert np.isfinite(score("linear", np.array([[0.5]]), WholeSample(z))["log_likelihood"]).all()
