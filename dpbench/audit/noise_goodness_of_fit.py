"""Goodness of fit: is the noise that was drawn the declared noise, in law, scale, price and independence?

A law is looked up here by its name: what the law's own class says is not trusted. Each draw x becomes a uniform number,
F(x / scale), or a random point of the jump of F where the law is discrete. Then four tests are made, with Bonferroni: all numbers
together, each coefficient alone (Kolmogorov and Smirnov, exact law), the sum over the coefficients of each run, and the largest
correlation of two coefficients (Student's t, exact for normal numbers).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from dpbench.accounting.costs import noise_cost
from dpbench.audit.repeated_answers import RepeatedAnswers
from dpbench.base.random_streams import stream
from dpbench.privacy.noise import Noise

MAX_CORRELATED = 60
"""Coefficients whose correlations are tested: the first ones."""


@dataclass(frozen=True)
class NoiseTest:
    """The goodness of fit of one answer's noise."""

    answer: str
    law: str
    draws: int
    p_value: float
    """The smallest p-value of the tests, times their number."""
    test: str
    """The test that gave it."""
    false_alarm: float

    @property
    def violation(self) -> str:
        """What is wrong with the noise, in a sentence; empty if the tests passed."""
        if self.p_value >= self.false_alarm:
            return ""
        return f"The noise of {self.answer!r} is not the {self.law} noise declared: {self.test}, p = {self.p_value:.2g}."


def check_answer_noise(repeats: RepeatedAnswers, false_alarm: float, seed: int) -> list[NoiseTest]:
    """Test the noise of one call; return nothing where its law is not known here.

    Where answers are selected (drawn until accepted, or in a summary), draws from the law itself are tested.
    """
    noise, name = repeats.answer.noise, repeats.answer.query
    if noise is None or noise.law.name not in DECLARED_LAWS:
        return []
    if repeats.additive:
        draws = (repeats.numbers - repeats.exact[:, None]).reshape(-1, repeats.numbers.shape[2])
    else:
        runs, size = repeats.numbers.shape[1], noise.scale.shape[1]
        standard = noise.law.standard(stream(seed, "audit, law", name), runs * size)
        draws = noise.law.shape(standard.reshape(runs, size), noise.scale[:1])
    return [check_noise(noise, draws, false_alarm, stream(seed, "audit, ties", name), name)]


def check_noise(noise: Noise, draws: np.ndarray, false_alarm: float, ties: np.random.Generator, answer: str = "") -> NoiseTest:
    """Test draws (runs, coefficients) that are declared to be independent; ``ties`` draws points of the jumps of F."""
    law = DECLARED_LAWS[noise.law.name]
    uniform = law.uniform(draws, np.broadcast_to(noise.scale, draws.shape), ties.random(draws.shape))
    if noise.law.norm != law.norm or noise.cost != noise_cost(noise.law.name, float(noise.bound)):
        p_values = {"the price that the law states": 0.0}
    elif not np.isfinite(uniform).all():
        p_values = {"the values that the law can take": 0.0}
    else:
        p_values = _p_values(uniform)
    test = min(p_values, key=lambda name: p_values[name])
    return NoiseTest(answer, noise.law.name, draws.size, min(1.0, len(p_values) * p_values[test]), test, false_alarm)


@dataclass(frozen=True)
class DeclaredLaw:
    """What a law's name declares."""

    norm: Literal["L1", "L2"]
    uniform: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    """Map draws, their scales and uniform numbers (used by discrete laws) to uniform numbers."""


def _geometric(x: np.ndarray, scale: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Return P[X < x] + ties P[X = x], where P[X = k] = (1 - a)/(1 + a) a^|k|; NaN off the integers."""
    a = np.exp(-1 / scale)
    below = _geometric_cdf(x - 1, a)
    return np.where(x == np.round(x), below + ties * (_geometric_cdf(x, a) - below), np.nan)


def _geometric_cdf(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(x < 0, a ** np.maximum(-x, 0) / (1 + a), 1 - a ** (np.maximum(x, 0) + 1) / (1 + a)))


DECLARED_LAWS = {
    "laplace": DeclaredLaw("L1", lambda x, scale, _: stats.laplace.cdf(x, scale=scale)),
    "geometric": DeclaredLaw("L1", _geometric),
    "gaussian": DeclaredLaw("L2", lambda x, scale, _: special.ndtr(x / scale)),
}


def _p_values(uniform: np.ndarray) -> dict[str, float]:
    size = uniform.shape[1]
    p_values = {"all draws together": _kolmogorov_smirnov(uniform.ravel())}
    if size > 1:
        p_values["a coefficient"] = min(1.0, size * min(_kolmogorov_smirnov(column) for column in uniform.T))
        normal = special.ndtri(np.clip(uniform, 1e-300, 1 - 1e-16))
        p_values["a run's sum"] = _kolmogorov_smirnov(special.ndtr(normal.sum(axis=1) / math.sqrt(size)))
        p_values["a correlation"] = _correlation(normal[:, :MAX_CORRELATED])
    return p_values


def _kolmogorov_smirnov(uniform: np.ndarray) -> float:
    return float(stats.ks_1samp(uniform, stats.uniform.cdf, method="exact").pvalue)


def _correlation(normal: np.ndarray) -> float:
    """Return the probability of so large a correlation between any two columns."""
    runs, size = normal.shape
    if runs < 3:
        return 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.abs(np.corrcoef(normal, rowvar=False)[np.triu_indices(size, 1)])
        # a column without any spread has no correlation: that is as wrong as perfect correlation
        largest = float(np.nan_to_num(correlations, nan=1.0).max())
        t = largest * math.sqrt((runs - 2) / max(1 - largest**2, 1e-300))
    return float(min(1.0, 2 * len(correlations) * stats.t.sf(t, runs - 2)))
