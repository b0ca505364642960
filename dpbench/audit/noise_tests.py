"""Goodness of fit: the noise that was drawn is the noise that was declared, in law, scale, price and independence.

What an answer's declared law says is looked up here by the law's name, not asked of the law. Each draw x becomes a uniform
number, F(x / scale), with a random point of the jump where the law is discrete. Then four things are tested, with Bonferroni:
all numbers together, each coefficient alone (Kolmogorov and Smirnov, exact law), the sum over coefficients of each run, and the
largest correlation of two coefficients (Student's t, exact for normal scores).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from dpbench.accounting.costs import Cost, Gdp, Pure, Zcdp
from dpbench.privacy.noise import Noise

Array = np.ndarray

COLUMNS = 60
"""Coefficients whose correlations are looked at."""


@dataclass(frozen=True)
class NoiseTest:
    """The goodness of fit of one answer's noise."""

    what: str
    law: str
    draws: int
    p_value: float
    """The smallest of the four, times four."""
    test: str
    """Which test gave it."""
    false_alarm: float

    @property
    def violated(self) -> bool:
        return self.p_value < self.false_alarm


@dataclass(frozen=True)
class Reference:
    """What a law's name stands for."""

    norm: Literal["L1", "L2"]
    uniform: Callable[[Array, Array, Array], Array]
    """Uniform numbers of draws, their scales and uniform numbers of one's own."""
    least: Callable[[float], tuple[Cost, ...]]
    """The prices that a bound may have: no less than these."""


def _laplace(x: Array, scale: Array, _: Array) -> Array:
    z = x / scale
    return np.asarray(np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2))


def _gaussian(x: Array, scale: Array, _: Array) -> Array:
    return np.asarray(special.ndtr(x / scale))


def _geometric(x: Array, scale: Array, own: Array) -> Array:
    """P[X < x] + own P[X = x], where P[X = k] = (1 - a)/(1 + a) a^|k|; off the integers it is no number."""
    a = np.exp(-1 / scale)
    low = _geometric_cdf(x - 1, a)
    value = low + own * (_geometric_cdf(x, a) - low)
    return np.where(x == np.round(x), value, np.nan)


def _geometric_cdf(x: Array, a: Array) -> Array:
    return np.asarray(np.where(x < 0, a ** np.maximum(-x, 0) / (1 + a), 1 - a ** (np.maximum(x, 0) + 1) / (1 + a)))


REFERENCES = {
    "laplace": Reference("L1", _laplace, lambda bound: (Pure(bound),)),
    "geometric": Reference("L1", _geometric, lambda bound: (Pure(bound),)),
    "gaussian": Reference("L2", _gaussian, lambda bound: (Gdp(bound), Zcdp(bound * bound / 2))),
}


def fit_of_noise(noise: Noise, drawn: Array, false_alarm: float, own: np.random.Generator, what: str = "") -> NoiseTest:
    """The test of (runs, coefficients) draws that are independent by their declaration."""
    reference = REFERENCES.get(noise.law.name)
    if reference is None:
        raise ValueError(f"There is no reference for noise of the law {noise.law.name!r}.")
    if noise.law.norm != reference.norm or noise.cost not in reference.least(float(noise.bound)):
        return NoiseTest(what, noise.law.name, drawn.size, 0.0, "the price that the law states", false_alarm)
    scale = np.broadcast_to(noise.scale, drawn.shape)
    uniform = reference.uniform(drawn, scale, own.random(drawn.shape))
    if not np.isfinite(uniform).all():
        return NoiseTest(what, noise.law.name, drawn.size, 0.0, "the values that the law can take", false_alarm)
    p_values = _tests(uniform)
    test = min(p_values, key=lambda name: p_values[name])
    return NoiseTest(what, noise.law.name, drawn.size, min(1.0, len(p_values) * p_values[test]), test, false_alarm)


def _tests(uniform: Array) -> dict[str, float]:
    size = uniform.shape[1]
    p_values = {"all draws together": _kolmogorov(uniform.ravel())}
    if size > 1:
        p_values["a coefficient"] = min(1.0, size * min(_kolmogorov(column) for column in uniform.T))
        normal = special.ndtri(np.clip(uniform, 1e-300, 1 - 1e-16))
        p_values["a run's sum"] = _kolmogorov(special.ndtr(normal.sum(axis=1) / math.sqrt(size)))
        p_values["a correlation"] = _correlated(normal[:, :COLUMNS])
    return p_values


def _kolmogorov(uniform: Array) -> float:
    """The probability of so large a distance from the uniform law."""
    ordered, count = np.sort(uniform), len(uniform)
    steps = np.arange(count + 1) / count
    distance = max(float((steps[1:] - ordered).max()), float((ordered - steps[:-1]).max()))
    return float(stats.kstwo.sf(distance, count))


def _correlated(normal: Array) -> float:
    """Of so large a correlation between any two columns."""
    runs, size = normal.shape
    if runs < 3:
        return 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.abs(np.corrcoef(normal, rowvar=False)[np.triu_indices(size, 1)])
        largest = float(np.nan_to_num(found, nan=1.0).max())
        score = largest * math.sqrt((runs - 2) / max(1 - largest**2, 1e-300))
    return float(min(1.0, 2 * len(found) * stats.t.sf(score, runs - 2)))
