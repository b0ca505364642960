"""Each noise law draws what its name says and costs what its probabilities say. Standard draws have names.

Every statistical test below rejects a correct implementation with probability at most 1e-6 over the choice of the seed.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpbench.base.random_streams import long_stream, stream
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Gaussian, Geometric, KNorm, Laplace, Noise, laplace

FALSE_ALARM = 1e-6

LAPLACE = 6.0
"""E x⁴ / (E x²)² of a Laplace draw; of the mean of two of them it is (6 + 3) / 2, of a normal one 3."""


def normal_limit(tests: int) -> float:
    """How far the largest of ``tests`` standardised means may lie from 0.

    The mean of 20,000 squares of Laplace draws has skewness 0.047, which makes its tail at most five times a normal one's
    here (Edgeworth): an eighth of the false alarms is spent on the normal approximation.
    """
    return float(stats.norm.isf(FALSE_ALARM / tests / 2 / 8))


@pytest.mark.parametrize(
    ("law", "cdf"),
    [(Laplace(), stats.laplace.cdf), (Gaussian(), stats.norm.cdf)],
    ids=["laplace", "gaussian"],
)
def test_a_continuous_law_is_what_its_name_says(law, cdf) -> None:
    """Kolmogorov-Smirnov on 200,000 draws of 2,000 streams, at two scales. False alarm 1e-6."""
    standard = np.stack([law.standard(stream(7, "law", run), 100) for run in range(2_000)])
    for b in (0.01, 30.0):
        shaped = law.shape(standard, np.full((1, 1), b)).ravel()
        assert stats.kstest(shaped / b, cdf).pvalue > FALSE_ALARM / 2
        kurtosis = LAPLACE if law.name == "laplace" else 3.0
        score = (np.mean(shaped**2) / law.variance(np.array(b)) - 1) / np.sqrt((kurtosis - 1) / shaped.size)
        assert abs(score) < normal_limit(2)


@pytest.mark.parametrize(("law", "cdf"), [(Laplace(), stats.laplace.cdf), (Geometric(), stats.uniform(-1, 2).cdf)])
def test_the_draws_for_bins_have_the_same_law(law, cdf) -> None:
    """Kolmogorov-Smirnov on 200,000 draws of 200 streams, and signs that do not depend on sizes. False alarm 1e-6."""
    draws = np.concatenate([law.standard_of_bins(long_stream(7, "law", run), 1_001) for run in range(200)])
    assert len(np.unique(draws)) == len(draws)
    assert stats.kstest(draws, cdf).pvalue > FALSE_ALARM / 4
    for sign in (-1, 1):
        assert stats.kstest(np.abs(draws[draws * sign > 0]), lambda x: cdf(x) - cdf(-x)).pvalue > FALSE_ALARM / 4
    lags = [np.corrcoef(cdf(draws[lag:]), cdf(draws[:-lag]))[0, 1] * np.sqrt(len(draws)) for lag in (1, 8, 1_001)]
    assert np.abs(lags).max() < normal_limit(12)


@pytest.mark.parametrize("size", [1, 4, 30])
def test_the_k_norm_law_is_a_radius_times_a_point_of_the_cube(size) -> None:
    """The largest number is Gamma(size), a single one is Laplace noise, and the variance is as stated. False alarm 1e-6."""
    law, scale = KNorm(), np.linspace(0.5, 3, size)[None]
    draws = law.shape(np.stack([law.standard(stream(7, "law", run), size) for run in range(20_000)]), scale)
    assert stats.kstest(np.abs(draws / scale).max(axis=1), stats.gamma(size).cdf).pvalue > FALSE_ALARM / 3
    if size == 1:
        assert stats.kstest((draws / scale)[:, 0], "laplace").pvalue > FALSE_ALARM / 3
    squares = np.square(draws) / law.variance(scale)
    assert (np.abs(squares.mean(axis=0) - 1) < normal_limit(3 * size) * squares.std(axis=0) / np.sqrt(len(draws))).all()


@pytest.mark.parametrize("scale", [0.2, 1.0, 6.5])
def test_the_geometric_law_has_its_exact_probabilities(scale) -> None:
    """χ² on 200,000 draws over the integers, tails pooled at 20 expected draws; the variance is the pmf's. False alarm 1e-6."""
    law, a = Geometric(), np.exp(-1 / scale)
    draws = law.shape(np.concatenate([law.standard(stream(7, "law", run), 100) for run in range(2_000)]), np.array(scale))
    assert (draws == np.round(draws)).all()
    last = max(int(np.floor(np.log(20 * (1 + a) / draws.size) / np.log(a))), 1)  # beyond it: a^last / (1 + a) on each side
    inner = np.arange(-last + 1, last)
    expected = np.r_[a**last / (1 + a), (1 - a) / (1 + a) * a ** np.abs(inner), a**last / (1 + a)] * draws.size
    counted = np.bincount(np.clip(draws, -last, last).astype(int) + last, minlength=2 * last + 1)
    assert expected.sum() == pytest.approx(draws.size)
    assert stats.chisquare(counted, expected).pvalue > FALSE_ALARM
    every = np.arange(-2_000, 2_001)
    assert law.variance(np.array(scale)) == pytest.approx(((1 - a) / (1 + a) * a ** np.abs(every) * every**2).sum(), rel=1e-9)


def test_the_geometric_law_costs_what_its_probabilities_say() -> None:
    """A move by k changes each probability by at most e^(k / scale): the privacy loss is exactly the bound that is paid."""
    scale = 2.5
    a = np.exp(-1 / scale)
    pmf = (1 - a) / (1 + a) * a ** np.abs(np.arange(-200, 201))
    for k in (1, 2, 7):
        loss = np.abs(np.log(pmf[k:] / pmf[:-k])).max()
        assert Geometric().cost(k / scale).epsilon == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_noise_refuses_nonsense(value) -> None:
    for scale, bound in ((value, 1.0), (1.0, value), ([1.0, value], 1.0)):
        with pytest.raises(ValueError, match="finite and positive"):
            Noise(Laplace(), np.array(scale), bound, "p")


def test_runs_folds_calls_queries_and_coefficients_are_independent() -> None:
    """No draw occurs twice, and no two coefficients, neighbouring runs, folds or calls correlate. False alarm 1e-6."""
    runs = [(run // 2, run % 2) for run in range(4_000)]
    draws = Draws(0, "test", runs)
    tables = [draws.standard(Laplace(), query, call, 6) for query, call in product(("objective", "other"), (0, 1))]
    tables += [Draws(seed, name, runs).standard(Laplace(), "objective", 0, 6) for seed, name in ((1, "test"), (0, "other"))]
    everything = np.concatenate(tables, axis=1)
    assert np.unique(everything).size == everything.size
    uniform = stats.laplace.cdf(everything) - 0.5
    columns = np.corrcoef(uniform, rowvar=False)[np.triu_indices(uniform.shape[1], 1)]
    lags = np.array(
        [np.corrcoef(uniform[lag:, j], uniform[:-lag, j])[0, 1] for lag in (1, 2, 3) for j in range(uniform.shape[1])]
    )
    found = np.abs(np.concatenate([columns, lags])) * np.sqrt(len(uniform))
    assert found.max() < normal_limit(found.size)


@pytest.fixture
def zeros(geometry, rows):
    return rows(geometry(1), np.zeros((3, 1)), np.zeros(3))


@pytest.fixture
def query(make, curate, zeros):
    return make("model", "linear", intercept=False).prepare(curate(zeros)).polynomial()


def test_kept_draws_are_the_ones_drawn_anew(repeated, zeros, query) -> None:
    shared = Draws(0, "t", [(0, 0), (0, 1)])
    noise = laplace(2.0, 1.0, "p")
    new = Draws(0, "t", shared.runs)
    answers = [Curator(repeated(zeros, 2), draws, Budget(1.0)).release(query, noise) for draws in (shared, shared, new)]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


def test_the_seed_the_data_and_the_call_name_the_stream(repeated, zeros, query) -> None:
    noise = laplace(2.0, 0.4, "p")
    curators = [Curator(repeated(zeros, 1), Draws(*key, [(0, 0)]), Budget(1.0)) for key in ((0, "a"), (1, "a"), (0, "b"))]
    answers = [curator.release(query, noise)[0, 0] for curator in curators] + [curators[0].release(query, noise)[0, 0]]
    assert len(set(answers)) == 4


def test_only_so_many_numbers_are_cached(monkeypatch) -> None:
    """Draws beyond the limit are drawn again, and are the same."""
    monkeypatch.setattr("dpbench.privacy.noise.MAX_CACHED_NUMBERS", 10)
    draws = Draws(0, "test", [(0, 0), (1, 0)])
    small, large = draws.standard(Laplace(), "q", 0, 4), draws.standard(Laplace(), "q", 0, 5)
    assert draws.standard(Laplace(), "q", 0, 4) is small
    again = draws.standard(Laplace(), "q", 0, 5)
    assert again is not large
    np.testing.assert_array_equal(again, large)
    assert draws.standard(Laplace(), "r", 0, 1) is draws.standard(Laplace(), "r", 0, 1), "what is small still fits"
