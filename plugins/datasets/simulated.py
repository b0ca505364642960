"""A synthetic table whose true coefficients are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
import scipy  # scipy.special is imported when a table is drawn

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.geometry import TargetKind
from dpbench.data.table import Column, Table

Features = Literal["uniform", "lognormal", "binary", "rare", "skewed"]
Errors = Literal["normal", "t4", "heteroscedastic"]

HIGH = 10.0
"""The upper bound of features that are not 0 or 1; the lower one is 0."""
SHARES_OF_ONES = {"binary": 0.3, "rare": 0.03}
SKEWED_MEAN = 0.5
"""The mean of skewed features: one in 10⁹ of them would be above the upper bound."""
TARGET_DEVIATIONS = 5
"""The target's bounds are its mean plus and minus this many standard deviations."""


@dataclass(frozen=True)
class SimulatedTable(Dataset):
    """Synthetic: a regression whose true coefficients are known, to judge intervals by.

    The target is linear in the features, which never exceed their bounds, plus independent errors of mean 0. So the model is
    exactly true, except for the few targets beyond their bounds, the mean plus and minus five standard deviations: with the
    default d and R² between 0.1 and 0.9, at most 2 in 10,000 if errors are normal and 2 in 1,000 if they are ``t4`` or
    ``heteroscedastic``, but 7 in 1,000 if they are heteroscedastic and features log-normal, and 1 in 100 if these are rare. All
    constants are those of the population, not of the drawn rows.

    Features: ``uniform`` on [0, 10], of which each pair can have the same ``correlation`` (a Gaussian copula); ``lognormal``
    (0, 1), clipped at 10 before the target is drawn; ``skewed``, exponential with mean 0.5, also clipped at 10; ``binary``, 1
    with probability 0.3, and ``rare`` with 0.03. Errors: ``normal``; ``t4``, Student's law with 4 degrees of freedom;
    ``heteroscedastic``, normal with a standard deviation that is proportional to the distance of the first feature from its mean.
    The variance of the errors gives the population the R² of ``r_squared``.

    For a binary model the target is 0 or 1, with log odds that are linear in the same features: their slopes are multiplied by
    what gives the log odds the standard deviation ``log_odds_std``, and their mean is 0. By default each repeat draws a table of
    its own.

    The design E1 of Lin et al. 2026: ``n=2000 d=3 coefficients=[1.5,-2,0.5] r_squared=0.98187``.
    """

    name: ClassVar[str] = "simulated"
    synthetic: ClassVar[bool] = True
    licence: ClassVar[str] = "none needed"
    citation: ClassVar[str] = "dpbench (the design E1: Lin et al. 2026)"

    n: int = option(10_000, low=2, help="number of rows")
    d: int = option(5, low=1, help="number of features")
    features: Features = option("uniform", help="the law of the features")
    correlation: float = option(0.0, low=0, high=1, open_high=True, help="between each pair of uniform features")
    errors: Errors = option("normal", help="the law of the errors of a real target")
    r_squared: float = option(0.5, low=0, high=1, open_low=True, help="share of a real target's variance that is explained")
    coefficients: tuple[float, ...] = option(
        (), help="the slopes per unit of each column; by default 1 to 0.2 per standard deviation, with alternating signs"
    )
    log_odds_std: float = option(1.0, low=0, high=100, help="standard deviation of the log odds of a binary target")
    target: TargetKind | None = option(None, help="null: that of the model; a binary target is 0 or 1")
    redraw: bool = option(True, help="draw a new table for each repeat")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.correlation and self.features != "uniform":
            raise Refused(
                f"The option dataset.correlation is for dataset.features=uniform only. Got {self.correlation:g} with "
                f"dataset.features={self.features} instead."
            )
        if self.coefficients and (len(self.coefficients) != self.d or not any(self.coefficients)):
            raise Refused(
                f"The option dataset.coefficients must list dataset.d={self.d} numbers, not all of them 0. "
                f"Got {list(self.coefficients)} instead."
            )

    def for_target(self, target: TargetKind) -> Self:
        return self if self.target else replace(self, target=target)

    def shape(self) -> tuple[int, int]:
        return self.n, self.d

    def redrawn(self) -> bool:
        return self.redraw

    def load(self, generator: np.random.Generator) -> Table:
        features = self._draw_features(generator)
        binary = self.features in SHARES_OF_ONES
        kind: Literal["binary", "continuous"] = "binary" if binary else "continuous"
        columns = tuple(Column(f"x{index + 1}", 0, 1 if binary else HIGH, kind=kind) for index in range(self.d))
        mean, deviation = feature_moments(self.features)
        slopes, signal = self._slopes(deviation)
        if self.target == "binary":
            slopes *= self.log_odds_std / signal
            constant = -mean * float(slopes.sum())
            chance = scipy.special.expit(constant + features @ slopes)
            response = (generator.random(self.n) < chance).astype(float)
            target, threshold = Column("y", 0, 1, kind="binary"), 0.5
        else:
            scale = signal * math.sqrt((1 - self.r_squared) / self.r_squared)
            constant, threshold = 0.0, mean * float(slopes.sum())
            response = features @ slopes + scale * self._draw_errors(generator, (features[:, 0] - mean) / deviation)
            reach = TARGET_DEVIATIONS * signal / math.sqrt(self.r_squared)
            target = Column("y", threshold - reach, threshold + reach)
        coefficients = (constant, *slopes.tolist())
        return Table(columns, target, features, response, threshold=threshold, coefficients=coefficients)

    def _slopes(self, deviation: float) -> tuple[np.ndarray, float]:
        """Return the slopes per unit of each column, and the standard deviation of the sum that they give."""
        position = np.arange(self.d)
        default = (-1.0) ** position * (1 - 0.8 * position / max(self.d - 1, 1)) / deviation
        slopes = np.array(self.coefficients) if self.coefficients else default
        variance = self.correlation * slopes.sum() ** 2 + (1 - self.correlation) * (slopes @ slopes)
        return slopes, deviation * math.sqrt(variance)

    def _draw_features(self, generator: np.random.Generator) -> np.ndarray:
        shape = self.n, self.d
        if self.features in SHARES_OF_ONES:
            return (generator.random(shape) < SHARES_OF_ONES[self.features]).astype(float)
        if self.features == "skewed":
            return np.minimum(generator.exponential(SKEWED_MEAN, shape), HIGH)
        if self.features == "lognormal":
            return np.minimum(np.exp(generator.standard_normal(shape)), HIGH)
        if not self.correlation:
            return generator.uniform(0, HIGH, shape)
        # normals with correlation r have ranks with correlation 6/π asin(r/2) (Pearson 1907)
        latent = 2 * math.sin(math.pi / 6 * self.correlation)
        shared = generator.standard_normal((self.n, 1))
        normals = math.sqrt(latent) * shared + math.sqrt(1 - latent) * generator.standard_normal(shape)
        return np.asarray(HIGH * scipy.special.ndtr(normals))

    def _draw_errors(self, generator: np.random.Generator, first: np.ndarray) -> np.ndarray:
        """Return errors of mean square 1, given the first feature in standard deviations from its mean."""
        if self.errors == "t4":
            return generator.standard_t(4, self.n) / math.sqrt(2)  # whose variance is 2
        normal = generator.standard_normal(self.n)
        return normal * np.abs(first) if self.errors == "heteroscedastic" else normal


def feature_moments(features: Features) -> tuple[float, float]:
    """Return the mean and the standard deviation of a feature in the population."""
    if features == "uniform":
        return HIGH / 2, HIGH / math.sqrt(12)
    if features in SHARES_OF_ONES:
        share = SHARES_OF_ONES[features]
        return share, math.sqrt(share * (1 - share))
    if features == "skewed":
        return SKEWED_MEAN, SKEWED_MEAN

    def moment(power: int) -> float:
        """E[min(X, c)^k] = e^{k²/2} Φ(log c - k) + c^k Φ(-log c), where log X is standard normal."""
        return float(
            math.exp(power**2 / 2) * scipy.special.ndtr(math.log(HIGH) - power)
            + HIGH**power * scipy.special.ndtr(-math.log(HIGH))
        )

    return moment(1), math.sqrt(moment(2) - moment(1) ** 2)


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [SimulatedTable]
