"""Planted faults: mechanisms whose claim is false, each in a way that has been published, or that a slip would make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special, stats

from dpbench.accounting.costs import Cost, Pure
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism, OneRunMechanism
from dpbench.privacy.noise import Gaussian, Geometric, Laplace, Law, Noise, PureLaw, laplace
from dpbench.privacy.queries.query import RowQuery


def opened(view: Any) -> Any:
    """The curator behind its closed view, by taking a function apart: what Python cannot hide from a determined author."""
    calls = view._call.__closure__[0].cell_contents
    return calls["release"].__self__


@dataclass(frozen=True)
class Planted(Mechanism):
    """The functional mechanism on the noise that ``noise`` declares."""

    name: ClassVar[str] = "planted"
    guarantee: ClassVar[str] = "ε-DP, it says"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(query.l1_bound("tight"), epsilon, "tight")

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        answer = curator.release(query, self.noise(query, budget.epsilon))
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())


@dataclass(frozen=True)
class QuarterOfTheSensitivity(Planted):
    """Δ/4."""

    name: ClassVar[str] = "quarter"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(query.l1_bound("tight") / 4, epsilon, "wrong")


@dataclass(frozen=True)
class ExactDiagonal(Planted):
    """The range of x_j² computed from the lower bound twice: no noise on the diagonal."""

    name: ClassVar[str] = "exact_diagonal"

    def noise(self, query: Any, epsilon: float) -> Noise:
        low = 0.0  # x_j² is at least low² and, by the slip, at most low² as well
        j, k = query.pairs
        diagonal = np.r_[j == k, np.zeros(query.geometry.dimension, dtype=bool)]
        scale = query.l1_bound("tight") / epsilon
        return Noise(Laplace(), np.where(diagonal, max(low**2 - low**2, 1e-12), scale), epsilon, "wrong")


class InverseScale(Gaussian):
    """A calibration value used as its inverse: σ := μ where σ = 1 / μ is meant."""

    name = "inverse_scale"

    def cdf(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return special.ndtr(x / scale)

    def shape(self, standard: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(standard / scale)


class PluginLaplace(Laplace):
    """The Laplace law under another name, which audits test against the distribution function that it brings."""

    name = "plugin_laplace"

    def cdf(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return stats.laplace.cdf(x, scale=scale)


class Truncated(PluginLaplace):
    """Truncated at three scales, and sold as Laplace noise: some answers are impossible on one of two neighbours."""

    def standard(self, generator: np.random.Generator, size: int) -> np.ndarray:
        return self._quantile(generator.uniform(size=size))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        low, high = stats.laplace.cdf([-3, 3])
        return np.asarray(stats.laplace.ppf(low + p * (high - low)))


class HonestlyTruncated(Truncated):
    """It brings its true distribution function, but asks the price of the Laplace law."""

    name = "truncated"

    def cdf(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        low, high = stats.laplace.cdf([-3, 3])
        return np.clip((stats.laplace.cdf(x, scale=scale) - low) / (high - low), 0, 1)


class Untestable(Truncated):
    """It brings no distribution function."""

    name = "untestable"
    cdf = Law.cdf


class Narrower(PluginLaplace):
    """Nine tenths of the declared scale."""

    def shape(self, standard: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(0.9 * standard * scale)


class Shared(PluginLaplace):
    """One draw for all coefficients."""

    def standard(self, generator: np.random.Generator, size: int) -> np.ndarray:
        return np.repeat(generator.laplace(), size)


class Cheap(PluginLaplace):
    """Half of its price."""

    def cost(self, bound: float) -> Cost:
        return Pure(bound / 2)


class Dear(PluginLaplace):
    """Twice its price, which is more than the budget."""

    def cost(self, bound: float) -> Cost:
        return Pure(2 * bound)


@dataclass(frozen=True)
class WrongLaw(Planted):
    """A law that does not draw, or does not cost, what its name says."""

    name: ClassVar[str] = "wrong_law"
    law: str = "InverseScale"

    def counted(self) -> Any:
        return "gdp" if self.law == "InverseScale" else "pure"

    def noise(self, query: Any, epsilon: float) -> Noise:
        law = globals()[self.law]()
        bound = query.l1_bound("tight")  # of L1, and so of L2
        return Noise(law, np.array([bound / epsilon]), epsilon, "the scale is right, the law is not")


class Logistic(PureLaw):
    """Density e^(-x/s) / (s (1 + e^(-x/s))²), whose logarithm has a slope of at most 1 / s."""

    name = "logistic"

    def standard(self, generator: np.random.Generator, size: int) -> np.ndarray:
        return generator.logistic(size=size)

    def variance(self, scale: np.ndarray) -> np.ndarray:
        return np.asarray(np.square(np.pi * scale) / 3)

    def cdf(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(special.expit(x / scale))


class PluginGeometric(Geometric):
    """The two-sided geometric law under another name."""

    name = "plugin_geometric"

    def cdf(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return stats.dlaplace.cdf(np.floor(x), 1 / scale)


class Broken(Logistic):
    """Its distribution function fails."""

    def cdf(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError


class Joint(Logistic):
    """It brings the distribution function of each coefficient, which says nothing about all of them together."""

    joint = True


class RowsAndTargets(RowQuery):
    """Sums of numbers in [0, 1] that are whole unless a fraction is added: positive features, positive targets."""

    name = "positive numbers"

    def __init__(self, dimension: int, fraction: float) -> None:
        self.fraction = fraction
        self._size = dimension + 1

    @property
    def size(self) -> int:
        return self._size

    def contribution(self, rows: Any, run: int = 0) -> np.ndarray:
        return (np.column_stack([rows.x, rows.y]) > 0) * (1 - self.fraction)


@dataclass(frozen=True)
class HonestLaw(Mechanism):
    """A law of a plugin that draws and costs what it says, on counts of positive numbers."""

    name: ClassVar[str] = "honest_law"
    guarantee: ClassVar[str] = "ε-DP"
    law: str = "Logistic"
    fraction: float = 0.0

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = RowsAndTargets(curator.geometry.dimension, self.fraction)
        scale = np.array([query.size / budget.epsilon])
        answer = curator.release(query, Noise(globals()[self.law](), scale, budget.epsilon, "each number moves by at most 1"))
        return Fit.good(answer[:, :-1] / curator.n[:, None])


@dataclass(frozen=True)
class CappedRedraws(Mechanism):
    """Drawn until the objective is bounded, at ε/2 a draw, but ten times at most: Lemma 5 of Zhang et al. 2012 has no cap.

    After the last try it answers 0, which no accepted draw is.
    """

    name: ClassVar[str] = "capped"
    tries: int = 10

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        scale = query.l1_bound("tight") / (budget.epsilon / 2)

        def redrawn(exact: np.ndarray, generator: np.random.Generator) -> np.ndarray:
            draws = generator.laplace(scale=scale, size=(self.tries, len(exact)))
            accepted = np.flatnonzero(exact[0] + draws[:, 0] > 0)
            return np.asarray(exact + draws[accepted[0]] if len(accepted) else 0 * exact)

        answer = curator.unproven(query, redrawn, Pure(budget.epsilon), "the lemma, cap or no cap")
        matrix, linear = np.maximum(answer[:, :1], 1e-9), answer[:, 1:]
        return Fit.good(-linear / (2 * matrix))


@dataclass(frozen=True)
class Peeking(Mechanism):
    """What it asks, or what it makes of the answers, depends on the rows."""

    name: ClassVar[str] = "peeking"
    what: str = "more"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        large = opened(curator)._sample.moments.xy[:, 0] > 0
        epsilon = budget.epsilon / (2 if self.what == "more" else 3 if self.what == "scale" and large.all() else 1)
        noise = laplace(query.l1_bound("tight"), epsilon, "tight")
        answers = [curator.release(query, noise) for _ in range(1 + (self.what == "more" and large.all()))]
        weights = query.quadratic(answers[0], curator.n).trimmed().minimiser()
        if self.what == "crash" and not large.all():
            raise ArithmeticError("only some rows come here")
        return Fit.good(weights * np.where(large, 2, 1)[:, None] if self.what == "weights" else weights)


@dataclass(frozen=True)
class OneRunPeeking(OneRunMechanism):
    """One of many runs asks twice."""

    name: ClassVar[str] = "one_run_peeking"

    def fit_run(self, curator: Any, problem: Any, budget: Any) -> np.ndarray:
        query = problem.polynomial()
        exact = opened(curator._curator)._sample.moments.xy[0, -1]
        noise = laplace(query.l1_bound("tight"), budget.epsilon / 2, "tight")
        for _ in range(1 + int(exact > 0)):
            answer = curator.release(query, noise)
        return np.asarray(query.quadratic(answer, np.array(curator.n)).trimmed().minimiser())


@dataclass(frozen=True)
class HiddenSpending(Planted):
    """Takes its own line out of the ledger."""

    name: ClassVar[str] = "hidden"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        curator.release(query, laplace(query.l1_bound("tight"), budget.epsilon / 2, "tight"))
        opened(curator).ledger._common.clear()
        answer = curator.release(query, laplace(query.l1_bound("tight"), budget.epsilon, "tight"))
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())
