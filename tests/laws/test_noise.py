"""The noise that is drawn is the noise that is declared.

Every test below rejects a correct implementation with probability at most 1e-6 over the choice of the seed, whatever the
number of coefficients it looks at (Bonferroni). The seed is fixed, so a test that passes once passes always.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpbench.data.scaling import scale
from dpbench.privacy.queries.polynomial import Polynomial

FALSE_ALARM = 1e-6
RUNS = 20_000

LAPLACE = 6.0
"""E x⁴ / (E x²)² of a Laplace draw; of the mean of two of them it is (6 + 3) / 2, of a normal one 3."""
MEAN_OF_TWO = 4.5


def normal_limit(tests: int) -> float:
    """How far the largest of ``tests`` standardised means may lie from 0.

    The mean of 20,000 squares of Laplace draws has skewness 0.047, which makes its tail at most five times a normal one's
    here (Edgeworth): an eighth of the false alarms is spent on the normal approximation.
    """
    return float(stats.norm.isf(FALSE_ALARM / tests / 2 / 8))


@pytest.fixture(scope="module")
def zeros(geometry, rows, repeated):
    """Runs whose rows are all zero, so that an answer is its noise: (3 numeric columns, an intercept) × RUNS."""
    g = geometry(3, intercept=True)
    return repeated(rows(g, np.zeros((4, 3)), np.zeros(4)), RUNS)


def answers(sample: Any, make: Any, curate: Any, epsilon: float, name: str, **options: Any) -> tuple[Polynomial, Any]:
    curator = curate(sample, epsilon=epsilon)
    problem = make("model", "linear").prepare(curator)
    make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
    return problem.polynomial(options.get("convention", "monomial")).with_square(), curator.tape[0]


@pytest.mark.parametrize("sensitivity", ["paper", "fang", "tight"])
@pytest.mark.parametrize("convention", ["monomial", "matrix", "code"])
def test_every_coefficient_of_fm_has_the_variance_of_its_convention(convention, sensitivity, zeros, make, curate) -> None:
    """Every entry of M and c after symmetrisation: mean squares, limits by the law's kurtosis. False alarm 1e-6."""
    epsilon = 0.8
    query, answer = answers(zeros, make, curate, epsilon, "fm", convention=convention, sensitivity=sensitivity)
    noisy = query.quadratic(answer.noisy, zeros.n)
    D = 4
    tight = query.l1_bound("tight") if convention == "matrix" else (D + 1) ** 2
    b = {"paper": 2 * (D + 1) ** 2, "fang": 2 * D * D + 4 * D, "tight": tight}[sensitivity] / epsilon
    off, kurtosis = {"monomial": (b * b / 2, LAPLACE), "matrix": (2 * b * b, LAPLACE), "code": (b * b, MEAN_OF_TWO)}[convention]
    limit = normal_limit(D * D + D)
    np.testing.assert_array_equal(noisy.matrix, np.swapaxes(noisy.matrix, 1, 2))
    assert (noisy.matrix[:, 0, 0] == zeros.n).all(), "the intercept's own coefficient is n, without noise"
    for j, k in product(range(D), repeat=2):
        if (j, k) != (0, 0):
            variance, fourth = (2 * b * b, LAPLACE) if j == k else (off, kurtosis)
            score = (np.mean(noisy.matrix[:, j, k] ** 2) / variance - 1) / np.sqrt((fourth - 1) / RUNS)
            assert abs(score) < limit, f"M[{j}, {k}] is {score:.1f} standard errors away"
    for j in range(D):
        score = (np.mean(noisy.linear[:, j] ** 2) / (2 * b * b) - 1) / np.sqrt((LAPLACE - 1) / RUNS)
        assert abs(score) < limit, f"c[{j}] is {score:.1f} standard errors away"


def test_every_released_coefficient_has_its_scale(zeros, make, curate) -> None:
    """2 Σ|x| / b is exactly χ²(2 runs) for Laplace noise: fm and dpba. False alarm 1e-6."""
    _, at_fm = answers(zeros, make, curate, 1.0, "fm", convention="matrix", sensitivity="code")
    dpba, at_dpba = answers(zeros, make, curate, 1.0, "dpba", alpha=0.25, sensitivity="fang")
    D = 4
    expected = np.full(at_fm.noisy.shape[1], 2 * D * D + 4 * D)
    split = np.r_[np.full(dpba.quadratic_size, 2 * D * D / 0.25), np.full(D, 4 * D / 0.75), 4 * D / 0.75 / D]  # b_q/b_l is 6
    for noise, scales in ((at_fm.noisy - at_fm.exact, expected), (at_dpba.noisy - at_dpba.exact, split)):
        total = 2 * np.abs(noise).sum(axis=0) / scales
        tail = 2 * np.minimum(stats.chi2.cdf(total, 2 * RUNS), stats.chi2.sf(total, 2 * RUNS))
        assert tail.min() > FALSE_ALARM / (2 * len(scales))


def test_mechanisms_and_epsilons_share_their_standard_noise(zeros, make, curate) -> None:
    """Common random numbers: fm in every convention, dpba, any ε; the authors' program has more coefficients and begins alike."""
    _, reference = answers(zeros, make, curate, 1.0, "fm")
    standard = (reference.noisy - reference.exact) / reference.noise.scale
    # the rows are zero, but the query's column of ones is not: c[0] = -2 Σ y = 0 and M[0, j] = 0 all the same
    assert (reference.exact == 0).all()
    for name, options, epsilon in [
        ("fm", {"sensitivity": "tight"}, 3.2),
        ("fm", {"convention": "matrix"}, 0.1),
        ("dpba", {"alpha": "opt"}, 0.1),
        ("dpba", {"alpha": "paper"}, 10.0),
    ]:
        _, answer = answers(zeros, make, curate, epsilon, name, **options)
        np.testing.assert_allclose(answer.noisy / answer.noise.scale, standard, rtol=1e-14)
    _, answer = answers(zeros, make, curate, 1.0, "fm", convention="code")
    np.testing.assert_allclose((answer.noisy / answer.noise.scale)[:, : standard.shape[1]], standard, rtol=1e-14)


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fm", {}),
        ("fm", {"convention": "code", "sensitivity": "fang"}),
        ("dpba", {}),
        ("dpc", {"sensitive": ("x1",)}),
        ("privr", {}),
    ],
)
def test_y_y_changes_no_weight_and_no_price(name, options, model, make, curate, table, monkeypatch) -> None:
    """It is the last number: the noise of the others, and so every weight, is bit for bit the one without it."""
    generator = np.random.default_rng(6)
    x = generator.uniform(-1, 1, (500, 3))
    rows = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    fits = []
    for released in (True, False):
        if not released:
            monkeypatch.setattr(Polynomial, "with_square", lambda query: query)
        curator = curate(rows, epsilon=1.7)
        problem = make("model", model).prepare(curator)
        fit = make("mechanism", name, **options).fit(curator, problem, curator.ledger.budget)
        fits.append((fit, curator.tape[-1], curator.ledger))
    (one, long, ledger), (other, short, plain) = fits
    assert long.noisy.shape[1] == short.noisy.shape[1] + 1
    np.testing.assert_array_equal(long.noisy[:, :-1], short.noisy)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (long.noise.bound, ledger.total) == (short.noise.bound, plain.total)
    assert ledger.total.epsilon == pytest.approx(1.7, rel=1e-12)


def test_more_epsilon_never_means_more_noise(zeros, repeated, make, curate) -> None:
    few = repeated(zeros.rows(0), 100)
    for name, options in [("fm", {}), ("dpba", {"alpha": "opt"}), ("dpba", {"alpha": "paper"}), ("dpba", {"alpha": 0.4})]:
        noises = [np.abs(answers(few, make, curate, epsilon, name, **options)[1].noisy) for epsilon in (0.01, 0.1, 1.0, 10.0)]
        assert all((more < less).all() for less, more in pairwise(noises))


@pytest.mark.parametrize("sensitivity", ["fang", "tight"])
def test_dpba_at_the_printed_shares_is_fm_with_the_same_sensitivity(sensitivity, make, curate, table) -> None:
    """α = f1/(f1 + f2) gives both kinds of coefficients one scale, which the rule determines."""
    generator = np.random.default_rng(5)
    x = generator.uniform(-1, 1, (2_000, 5))
    rows = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    D = 6
    alpha = 2 * D * D / (2 * D * D + 4 * D)
    for epsilon, repair in product((0.3, 3.2), ("trim", "floor")):
        weights = []
        for name, options in (("fm", {"ridge": 4.0}), ("dpba", {"alpha": alpha})):
            curator = curate(rows, epsilon=epsilon)
            problem = make("model", "linear").prepare(curator)
            mechanism = make("mechanism", name, repair=repair, sensitivity=sensitivity, **options)
            weights.append(mechanism.fit(curator, problem, curator.ledger.budget).weights)
        np.testing.assert_allclose(weights[0], weights[1], rtol=1e-9)
