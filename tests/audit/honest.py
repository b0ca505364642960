"""Honest mechanisms of kinds that audits once refuted: they keep their claims, and round, stop or refuse in ways of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.privacy.noise import Noise, gaussian, laplace
from dpbench.privacy.queries.query import RowQuery

FLOOR = 4.0
"""The least eigenvalue of a noisy objective."""
SOLVED = 1e-6
"""The batch solver stops when no coefficient of any run moves by more."""


@dataclass(frozen=True)
class Honest(Mechanism):
    """Add Laplace noise to the coefficients of the objective, raise its eigenvalues to a floor, and minimise it.

    Formula: the coefficients plus Lap(Δ/ε).

    Guarantee: ε-DP for replace-one neighbours; n and the bounds are public.

    Reference: Zhang et al. 2012, "Functional mechanism", PVLDB 5(11), Algorithm 1.
    """

    name: ClassVar[str] = "honest"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Any]] = frozenset({"polynomial"})

    def noise(self, objective: Any, budget: Any) -> Noise:
        return laplace(objective.l1_bound("tight"), budget.epsilon, objective.proof("tight"))

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        objective = problem.polynomial()
        answer = curator.release(objective, self.noise(objective, budget))
        return Fit.good(self.solve(objective.quadratic(answer, problem.n).floored(FLOOR)))

    def solve(self, noisy: Any) -> np.ndarray:
        return np.asarray(noisy.minimiser())


@dataclass(frozen=True)
class ClassicalGaussian(Honest):
    """Add normal noise with σ = Δ √(2 ln(1.25/δ)) / ε, which is (ε, δ)-DP for ε below 1 alone; else like ``Honest``.

    Formula: the coefficients plus N(0, σ²).

    Guarantee: (ε, δ)-DP for ε ≤ 1 and replace-one neighbours; n and the bounds are public.

    Reference: Dwork and Roth 2014, "The algorithmic foundations of differential privacy", Theorem A.1.
    """

    name: ClassVar[str] = "classical_gaussian"
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    currency: ClassVar[Any] = "approx"

    def noise(self, objective: Any, budget: Any) -> Noise:
        mu = budget.epsilon / math.sqrt(2 * math.log(1.25 / budget.delta))
        # an L1 sensitivity is an L2 one, too
        return gaussian(objective.l1_bound("tight"), mu, "Theorem A.1 of Dwork and Roth 2014")


@dataclass(frozen=True)
class RefusesLargeEpsilon(Honest):
    """Refuse ε above 50, which protects nothing; else like ``Honest``."""

    __doc__ = f"{__doc__}\n{(Honest.__doc__ or '').partition(chr(10))[2]}"
    name: ClassVar[str] = "refuses_large_epsilon"

    def noise(self, objective: Any, budget: Any) -> Noise:
        if budget.epsilon > 50:
            raise ValueError("epsilon must be at most 50: a larger one protects nothing.")
        return super().noise(objective, budget)


@dataclass(frozen=True)
class BatchSolver(Honest):
    """Minimise the noisy objectives of all runs by gradient steps until none of them moves; else like ``Honest``.

    In a batch, runs that were solved early make further steps.
    """

    __doc__ = f"{__doc__}\n{(Honest.__doc__ or '').partition(chr(10))[2]}"
    name: ClassVar[str] = "batch_solver"

    def solve(self, noisy: Any) -> np.ndarray:
        largest = np.linalg.norm(noisy.matrix, ord=2, axis=(-2, -1))[:, None]
        weights, step = np.zeros_like(noisy.linear), np.inf
        while np.abs(step).max() > SOLVED:
            step = (2 * np.einsum("rij,rj->ri", noisy.matrix, weights) + noisy.linear) / (2 * largest)
            weights = weights - step
        return np.asarray(weights)


def averages(dimension: int) -> np.ndarray:
    """Return the matrix that maps each column to its average with the mean of all columns."""
    return (np.eye(dimension) + 1 / dimension) / 2


@dataclass(frozen=True)
class SinglePrecision(RowQuery):
    """Σ u u' and Σ u y in single precision, where u holds averages of columns."""

    dimension: int
    name: str = "single precision"

    @property
    def size(self) -> int:
        return self.dimension * (self.dimension + 1)

    def contribution(self, rows: Any, run: int) -> np.ndarray:
        # libraries add the terms of such a product in another order for one row than for many
        averaged = rows.x.astype(np.float32) @ averages(self.dimension).astype(np.float32)
        z = np.column_stack([averaged, rows.y.astype(np.float32)])
        return (averaged[:, :, None] * z[:, None, :]).reshape(rows.n, -1)


@dataclass(frozen=True)
class SinglePrecisionSums(Honest):
    """Add Laplace noise to sums of products in single precision; else like ``Honest``."""

    __doc__ = f"{__doc__}\n{(Honest.__doc__ or '').partition(chr(10))[2]}"
    name: ClassVar[str] = "single_precision_sums"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        dimension = curator.geometry.dimension
        query = SinglePrecision(dimension)
        noise = laplace(2 * query.size * (1 + 1e-6), budget.epsilon, "every product lies in [-1, 1], up to its rounding")
        answer = curator.release(query, noise).reshape(-1, dimension, dimension + 1)
        values, vectors = np.linalg.eigh((answer[:, :, :-1] + answer[:, :, :-1].transpose(0, 2, 1)) / 2)
        inner = np.einsum("rji,rj->ri", vectors, answer[:, :, -1]) / np.maximum(values, FLOOR)
        return Fit.good(np.einsum("rij,rj->ri", vectors, inner) @ averages(dimension).T)


@dataclass(frozen=True)
class SpendsHalf(Honest):
    """Spend half of the budget; else like ``Honest``."""

    __doc__ = f"{__doc__}\n{(Honest.__doc__ or '').partition(chr(10))[2]}"
    name: ClassVar[str] = "spends_half"

    def noise(self, objective: Any, budget: Any) -> Noise:
        return super().noise(objective, budget.share(0.5))


HONEST = (ClassicalGaussian, RefusesLargeEpsilon, BatchSolver, SinglePrecisionSums, SpendsHalf)


@hookimpl
def dpbench_mechanisms() -> Any:
    return list(HONEST)
