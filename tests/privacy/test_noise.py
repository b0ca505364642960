"""Each noise law draws what its name says and costs what its probabilities say.

Every statistical test below rejects a correct implementation with probability at most 1e-6 over the choice of the seed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpbench.base.random_streams import stream
from dpbench.privacy.noise import ConcentratedGaussian, Gaussian, Geometric, Laplace, Noise

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
    [(Laplace(), stats.laplace.cdf), (Gaussian(), stats.norm.cdf), (ConcentratedGaussian(), stats.norm.cdf)],
    ids=["laplace", "gaussian", "concentrated gaussian"],
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
