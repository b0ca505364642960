"""DPC: how ε is split, where the larger noise goes, and that γ = 1 is the functional mechanism."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbench.data.scaling import scale
from dpbench.privacy.queries.polynomial import Polynomial
from dpbench.privacy.queries.quadratic import Quadratic

FALSE_ALARM = 1e-6
FM_OPTIONS = [
    {"convention": c, "sensitivity": s, "repair": r}
    for c, s, r in product(["monomial", "matrix", "code"], ["paper", "tight"], ["trim", "floor", "none"])
]


@pytest.fixture
def fit_and_answer(make, curate):
    """The fit, the answer and the query of a mechanism on some rows."""

    def of(sample: Any, name: str = "dpc", model: str = "linear", epsilon: float = 1.0, **options: Any) -> Any:
        curator = curate(sample, epsilon=epsilon)
        problem = make("model", model, intercept=curator.geometry.intercept).prepare(curator)
        fit = make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
        (answer,) = curator.tape
        assert curator.ledger.total.epsilon == pytest.approx(epsilon, rel=1e-12)
        assert curator.ledger.sound
        query = problem.polynomial(options.get("convention", "monomial"))
        return fit, answer, query if answer.exact.shape[1] == query.size else query.with_square()

    return of


def two_scales(answer: Any, query: Polynomial, positions: Any) -> tuple[float, float]:
    """The ordinary and the sensitive scale, each in its place: all coefficients that involve a sensitive column, no others."""
    j, k = query.pairs
    mask = np.concatenate(
        [np.isin(j, positions) | np.isin(k, positions), np.isin(np.arange(query.geometry.dimension), positions), [False]]
    )
    scale, mask = answer.noise.scale[0], mask[: query.size]  # the last number, y'y, is not there for every geometry
    assert np.ptp(scale[mask]) == 0
    assert mask.all() or np.ptp(scale[~mask]) == 0
    return float(scale[~mask][0]) if not mask.all() else np.nan, float(scale[mask][0])


@pytest.mark.parametrize("options", FM_OPTIONS, ids=lambda options: " ".join(options.values()))
def test_with_gamma_one_it_is_fm_bit_for_bit(options, fit_and_answer, repeated, make, table) -> None:
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (60, 3)), np.eye(3)[generator.integers(3, size=60)]])
    for target, model in (("real", "linear"), ("real", "ridge"), ("binary", "logistic")):
        rows = scale(table(x, np.tanh(x[:, 0] - x[:, 3]), (3,), threshold=0.0), "box", True, target)
        sample = repeated(rows, 40)
        for epsilon, names in product((0.3, 30.0), (("x1",), ("g0",), ("x0", "x2"))):
            dpc, noisy, _ = fit_and_answer(sample, model=model, epsilon=epsilon, gamma=1.0, sensitive=names, **options)
            fm, plain, _ = fit_and_answer(sample, "fm", model=model, epsilon=epsilon, **options)
            np.testing.assert_array_equal(noisy.noisy, plain.noisy)
            np.testing.assert_array_equal(dpc.weights, fm.weights)
            np.testing.assert_array_equal(dpc.status, fm.status)
            np.testing.assert_array_equal(dpc.health["not_positive_definite"], fm.health["not_positive_definite"])


def test_the_paper_s_rule_gives_the_constants_of_the_authors_program(fit_and_answer, geometry, rows) -> None:
    """ε = 1, γ = 0.01, one of 13 columns: ε_n = 1.082, ε_s = 0.011, with β = k/d."""
    g = geometry(13)
    for loss, total in (("linear", 2 * 13**2 + 4 * 13), ("logistic", 13**2 / 4 + 39)):
        target = "real" if loss == "linear" else "binary"
        sample = rows(geometry(13, target=target), np.zeros((3, 13)), np.zeros(3))
        _, answer, query = fit_and_answer(sample, model=loss, sensitive=("x5",), beta_rule="paper", sensitivity="fang")
        ordinary, sensitive = two_scales(answer, query, [5])
        assert f"{total / ordinary:.3f}" == "1.082"
        assert f"{total / sensitive:.3f}" == "0.011"
    assert g.dimension == 13


@pytest.mark.parametrize("D", [3, 13])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("gamma", [0.001, 0.3])
def test_the_sensitive_share_has_its_closed_forms(D, k, gamma, fit_and_answer, geometry, rows) -> None:
    """β = [(2Dk - k²) + 2k]/(D² + 2D), its logistic twin, and 1 - (D - k + 1)²/(D + 1)² with the tight bound."""
    shares = {
        ("linear", "paper"): (2 * D * k - k * k + 2 * k) / (D * D + 2 * D),
        ("linear", "code"): (2 * D * k - k * k + 2 * k) / (D * D + 2 * D),
        ("linear", "fang"): (2 * D * k - k * k + 2 * k) / (D * D + 2 * D),
        ("logistic", "paper"): ((2 * D * k - k * k) / 4 + 3 * k) / (D * D / 4 + 3 * D),
        ("logistic", "fang"): ((2 * D * k - k * k) / 4 + 3 * k) / (D * D / 4 + 3 * D),
        ("logistic", "code"): ((2 * D * k - k * k) / 4 + k) / (D * D / 4 + D),
        ("linear", "tight"): 1 - (D - k + 1) ** 2 / (D + 1) ** 2,
    }
    for (loss, sensitivity), beta in shares.items():
        for intercept in (False, True):  # an intercept is a noised column like any other
            g = geometry(D - intercept, intercept=intercept, target="real" if loss == "linear" else "binary")
            sample = rows(g, np.zeros((3, D - intercept)), np.zeros(3))
            names = g.columns[:k]
            _, answer, query = fit_and_answer(
                sample, model=loss, epsilon=0.8, sensitivity=sensitivity, gamma=gamma, sensitive=names
            )
            ordinary, sensitive = two_scales(answer, query, [p + intercept for p in range(k)])
            epsilon_n = query.l1_bound(sensitivity) / ordinary
            assert epsilon_n == pytest.approx(0.8 / (1 - beta + beta * gamma), rel=1e-12)
            assert sensitive == pytest.approx(ordinary / gamma, rel=1e-12)


def test_a_one_hot_attribute_counts_as_one_with_the_tight_bound_and_as_its_columns_with_the_printed_one(
    fit_and_answer, table
) -> None:
    """M² + 4GM + 2G² with one group less; the printed count has D = 6 columns, 3 of them sensitive."""
    x = np.column_stack([np.zeros((6, 3)), np.eye(3)[[0, 1, 2, 0, 1, 2]]])
    rows = scale(table(x, np.zeros(6), (3,), sensitive=("g0",)), "box", False, "real")
    for sensitivity, beta in (("tight", 1 - 16 / (16 + 16 + 2)), ("code", 1 - (9 + 6) / (36 + 12))):
        _, answer, query = fit_and_answer(rows, sensitivity=sensitivity, gamma=0.01)
        ordinary, _ = two_scales(answer, query, [3, 4, 5])
        assert query.l1_bound(sensitivity) / ordinary == pytest.approx(1 / (1 - beta * 0.99), rel=1e-12)


def test_k_of_d_is_lowered_if_it_would_overspend(fit_and_answer, table) -> None:
    """Half of the columns, but less than half of the tight bound: the share it is."""
    x = np.column_stack([np.zeros((6, 3)), np.eye(3)[[0, 1, 2, 0, 1, 2]]])
    rows = scale(table(x, np.zeros(6), (3,), sensitive=("g0",)), "box", False, "real")
    scales = [
        fit_and_answer(rows, sensitivity=s, beta_rule=r)[1].noise.scale for s in ("tight", "code") for r in ("paper", "share")
    ]
    assert 1 - 16 / 34 > 1 / 2, "the example must be one where k/D is valid, and smaller"
    assert (scales[0] > scales[1]).all()
    wide = np.column_stack([np.zeros((6, 3)), np.eye(6)])
    rows = scale(table(wide, np.zeros(6), (6,), sensitive=("g0",)), "box", False, "real")
    scales = [
        fit_and_answer(rows, sensitivity=s, beta_rule=r)[1].noise.scale for s in ("tight", "code") for r in ("paper", "share")
    ]
    np.testing.assert_array_equal(scales[0], scales[1])
    assert (scales[2] > scales[3]).all()


def test_every_coefficient_has_the_noise_of_its_attributes(fit_and_answer, geometry, rows, repeated) -> None:
    """2 Σ|x| / b is exactly χ²(2 runs), coefficient by coefficient. False alarm 1e-6."""
    runs = 4_000
    sample = repeated(rows(geometry(3, intercept=True), np.zeros((4, 3)), np.zeros(4)), runs)
    _, answer, query = fit_and_answer(sample, gamma=0.02, sensitive=("x1",), sensitivity="tight")
    share = 1 - 16 / 25
    b = 25 * (1 - share * 0.98)
    j, k = query.pairs
    touched = np.r_[(j == 2) | (k == 2), np.arange(4) == 2, False]  # the last number is y'y
    total = 2 * np.abs(answer.noisy - answer.exact).sum(axis=0) / np.where(touched, b / 0.02, b)
    tail = 2 * np.minimum(stats.chi2.cdf(total, 2 * runs), stats.chi2.sf(total, 2 * runs))
    assert tail.min() > FALSE_ALARM / len(total)


@pytest.mark.parametrize(
    ("options", "ridge_at"),
    [
        ({}, lambda n, s: 4 * 2**0.5 * n),
        ({"convention": "code"}, lambda n, s: 5 * 2**0.5 * n),
        ({"ridge": "code"}, lambda n, s: 5 * 2**0.5 * s),
        ({"ridge": 7.0}, lambda n, s: 7 * 2**0.5 * n),
        ({"ridge": 0.0}, lambda n, s: 0.0),
    ],
    ids=["default", "code", "the program's", "7", "none"],
)
def test_the_ridge_is_relative_to_the_ordinary_noise_unless_it_is_the_program_s(
    options, ridge_at, fit_and_answer, geometry, rows, repeated
) -> None:
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (500, 3))
    sample = repeated(rows(geometry(3), x, np.tanh(x.sum(axis=1))), 200)
    fit, answer, query = fit_and_answer(sample, epsilon=5.0, gamma=0.1, sensitive=("x1",), **options)
    weight = ridge_at(*two_scales(answer, query, [1]))
    noisy = query.quadratic(answer.noisy, sample.n)
    expected = Quadratic(noisy.matrix + weight * np.eye(3), noisy.linear).trimmed()
    np.testing.assert_allclose(fit.weights, expected.minimiser(), rtol=1e-6, atol=1e-9)


def test_a_floor_acts_on_the_objective_with_even_noise(fit_and_answer, geometry, rows, repeated) -> None:
    """Columns times γ where they are sensitive: 2 std_off sqrt(D) of the ordinary noise there, and weights of a sane size."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (4_000, 3))
    sample = repeated(rows(geometry(3), x, np.tanh(x.sum(axis=1))), 200)
    gamma = 0.01
    fit, answer, query = fit_and_answer(sample, epsilon=2.0, gamma=gamma, sensitive=("x1",), repair="floor", sensitivity="tight")
    ordinary, _ = two_scales(answer, query, [1])
    noisy = query.quadratic(answer.noisy, sample.n)
    q = np.array([1, gamma, 1])
    values, vectors = np.linalg.eigh(noisy.matrix * np.outer(q, q))
    values = np.maximum(values, 2 * ordinary / 2**0.5 * 3**0.5)
    turned = np.einsum("rji,rj->ri", vectors, noisy.linear * q)
    expected = q * np.einsum("rij,rj->ri", vectors, -0.5 * turned / values)
    np.testing.assert_allclose(fit.weights, expected, rtol=1e-6)
    exact = np.linalg.lstsq(x, np.tanh(x.sum(axis=1)), rcond=None)[0]
    assert np.median(np.abs(fit.weights[:, [0, 2]] - exact[[0, 2]]), axis=0).max() < 0.1


@pytest.mark.parametrize("model", ["linear", "lasso", "elastic_net", "logistic"])
def test_as_epsilon_grows_it_approaches_the_fit_without_noise(model, make, curate, table) -> None:
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (400, 3)), np.eye(3)[generator.integers(3, size=400)]])
    target = "binary" if model == "logistic" else "real"
    rows = scale(table(x, np.tanh(x @ np.arange(6.0)), (3,), sensitive=("g0",), threshold=2.0), "box", True, target)
    limit = make("mechanism", "truncated" if model == "logistic" else "no_privacy")
    weights = []
    for mechanism in (limit, *(make("mechanism", "dpc", repair=repair) for repair in ("trim", "floor"))):
        curator = curate(rows, epsilon=1e14)
        weights.append(mechanism.fit(curator, make("model", model).prepare(curator), curator.ledger.budget).weights[0])
    for vector in weights[1:]:
        np.testing.assert_allclose(rows.x @ vector, rows.x @ weights[0], rtol=0, atol=1e-6)


def test_the_sensitive_attributes_are_the_dataset_s_by_default(fit_and_answer, table) -> None:
    rows = scale(table(np.zeros((4, 3)), np.zeros(4), sensitive=("x2",)), "box", True, "real")
    _, declared, query = fit_and_answer(rows)
    _, named, _ = fit_and_answer(rows, sensitive=("x0",))
    two_scales(declared, query, [3])
    two_scales(named, query, [1])
    assert (declared.noise.scale != named.noise.scale).any()


def test_without_a_sensitive_attribute_it_is_refused_in_a_sentence(make, geometry) -> None:
    g, linear = geometry(3), make("model", "linear")
    assert make("mechanism", "dpc").unsupported(linear, g) == (
        "dpc does not fit linear: the dataset declares no sensitive attribute. Name one with mechanism.sensitive=[...]. "
        "Known: x0, x1, x2."
    )
    assert make("mechanism", "dpc", sensitive=["age", "x1"]).unsupported(linear, g) == (
        "dpc does not fit linear: the table has no attribute named 'age'. Known: x0, x1, x2."
    )
    assert make("mechanism", "dpc", sensitive=["x1"]).unsupported(linear, g) is None
    assert make("mechanism", "dpc", sensitive=["x1"]).unsupported(make("model", "robust"), g) == (
        "dpc does not fit robust: the model provides no polynomial."
    )


def test_the_same_seed_gives_the_same_bits(fit_and_answer, geometry, rows, repeated) -> None:
    sample = repeated(rows(geometry(3), np.ones((4, 3)), np.ones(4)), 5)
    weights = [fit_and_answer(sample, sensitive=("x0",))[0].weights for _ in range(2)]
    np.testing.assert_array_equal(*weights)


def test_with_the_program_s_options_the_weights_have_the_law_of_the_program(fit_and_answer, geometry, rows, repeated) -> None:
    """The program of Wang et al., written again from its description: noise on all D² entries, 5 std at ε_s on the diagonal.

    Kolmogorov and Smirnov's test of each of 4 weights, of 3,000 fits against 3,000. False alarm 1e-6.
    """
    runs, D, epsilon, gamma = 3_000, 4, 40.0, 0.1
    generator = np.random.default_rng(3)
    x = generator.uniform(-1, 1, (2_000, D))
    y = (generator.uniform(size=2_000) < 1 / (1 + np.exp(-2 * x.sum(axis=1)))).astype(float)
    sample = repeated(rows(geometry(D, target="binary"), x, y), runs)
    options = {"convention": "code", "ridge": "code", "sensitivity": "fang", "beta_rule": "paper", "gamma": gamma}
    fit, _, _ = fit_and_answer(sample, model="logistic", epsilon=epsilon, sensitive=("x1",), **options)
    delta, beta = D**2 / 4 + 3 * D, 1 / D
    epsilon_n = epsilon / (1 - beta + beta * gamma)
    scale_of = np.full((D, D), delta / epsilon_n)
    scale_of[1], scale_of[:, 1] = (delta / (gamma * epsilon_n),) * 2
    noise = generator.laplace(size=(runs, D, D)) * scale_of
    quadratic = x.T @ x / 8 + (noise + noise.transpose(0, 2, 1)) / 2
    quadratic += 5 * np.sqrt(2) * delta / (gamma * epsilon_n) * np.eye(D)
    linear = x.T @ (0.5 - y) + generator.laplace(size=(runs, D)) * np.diag(scale_of)
    values, vectors = np.linalg.eigh(quadratic)
    inverse = np.where(values > 1e-8, 1 / np.where(values > 1e-8, values, 1), 0)
    turned = np.einsum("rji,rj->ri", vectors, linear)
    program = np.einsum("rij,rj->ri", vectors, -0.5 * inverse * turned)
    least = min(stats.ks_2samp(fit.weights[:, column], program[:, column]).pvalue for column in range(D))
    assert least > FALSE_ALARM / D
