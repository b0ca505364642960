"""The mechanism: descent along noisy gradients, which returns the mean of its last steps."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench import Fit, Mechanism, Problem, option
from dpbench.noise import gaussian, gdp_of_epsilon
from dpbench.queries import RowQuery


@dataclass(frozen=True, eq=False)
class ShortGradients(RowQuery):
    """The sum of the rows' gradients at each run's weights, each of them shortened to a length."""

    problem: Problem
    length: float
    state: np.ndarray  # the weights, (runs, D)
    name: str = "short gradients"

    @property
    def size(self):
        return self.state.shape[1]

    def contribution(self, rows, run):
        gradients = rows.x * self.problem.gradient(rows.x, rows.y, self.state[run])[:, None]
        lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
        return gradients * (self.length / np.maximum(lengths, self.length))


@dataclass(frozen=True)
class AveragedDescent(Mechanism):
    """Descend along the sum of all rows' gradients, each shortened to a length, and return the mean of the later steps.

    Formula: from w = 0, T times: g = Σ short(∇) + N(0, (2L√T/μ)² I), w' = w - ηg/n, where η = 1/(largest curvature · S), S is the
    largest squared norm of a row, and L = ``clip`` · √S. The mean is that of the later half.

    Guarantee: (ε, δ)-DP for replace-one neighbours. A replaced row moves a sum by at most 2L, so each step is μ/√T-GDP, and T
    steps, each of which uses released weights only, are μ-GDP, at the largest μ that is (ε, δ)-DP.

    Public: n, and the columns' bounds.

    Cost: T passes over the rows.

    Reference: Bassily, Smith and Thakurta 2014, "Private empirical risk minimization", FOCS, for noisy descent; Polyak and
    Juditsky 1992, "Acceleration of stochastic approximation by averaging", for the mean.
    """

    name: ClassVar[str] = "averaged_descent"
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    currency: ClassVar[str] = "approx"
    needs: ClassVar[frozenset[str]] = frozenset({"gradient"})
    expected_failures: ClassVar[Mapping[str, str]] = {"limit": "the number of steps is fixed, and they end before the minimum"}

    steps: int = option(15, low=2, help="T")
    clip: float = option(0.5, low=0, open_low=True, help="the longest gradient, for rows in the unit ball")

    def fit(self, curator, problem, budget):
        geometry = curator.geometry
        mu = gdp_of_epsilon(budget.epsilon, budget.delta) / math.sqrt(self.steps)
        length = self.clip * math.sqrt(geometry.squared_norm)
        noise = gaussian(2 * length, mu, "no gradient is longer than L, so a replaced one moves the sum by at most 2L")
        step = 1 / (problem.largest_curvature * geometry.squared_norm * curator.n)[:, None]
        weights, total = np.zeros((2, curator.runs, geometry.dimension))
        for number in range(self.steps):
            weights = weights - step * curator.release(ShortGradients(problem, length, weights), noise)
            if number >= self.steps // 2:
                total = total + weights
        return Fit.good(total / (self.steps - self.steps // 2))
