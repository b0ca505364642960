"""AdaSSP: noisy second moments, with a ridge that adapts to a private least eigenvalue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.options import option
from dpbench.contracts.fit import DIVERGED, OK, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.inference.released_moments import released_moments
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import gaussian
from dpbench.privacy.procedures.least_eigenvalue import LeastEigenvalue
from dpbench.privacy.queries.second_moments import Gram, SecondMoments

EQUAL_WEIGHT = 2 / 3
"""The weight of X'X at which it and X'y get the same standard deviation, √4.5/μ."""


@dataclass(frozen=True)
class AdaptiveSufficientStatistics(Mechanism):
    """Add normal noise to X'X and X'y, and to X'X a ridge: as large as the noise needs, given a noisy least eigenvalue.

    Formula: on rows x/√S, where S is the largest squared norm of a row, and with Z standard normal: λ' = max(0, λ_min(X'X) +
    σ_λ Z - √L σ_λ), λ = max(0, σ √(D log(2D²/ρ)) - λ'), w = (X'X + E + λI)⁻¹ (X'y + σZ). E is symmetric, with the standard
    deviation σ on the diagonal and σ/√2 off it; L = log(6/δ); ρ is the probability that the ridge is too small. A model's penalty
    is added to X'X. Logistic regression uses the quadratic form of its loss.

    Guarantee: (ε, δ)-DP for replace-one neighbours. ``calibration=joint`` spends a third of μ² on the least eigenvalue, σ_λ =
    √3/μ, and two thirds on X'X and X'y together, σ = √6.75/μ, at the largest μ that is (ε, δ)-DP. ``calibration=published`` takes
    σ = σ_λ = 3√L/ε, and is charged what that costs, μ = √5.5/σ.

    Public: n and the bounds. The square of the intercept and the products of two levels of one attribute are known, and get no
    noise.

    Cost: two stacks of D × D eigenproblems. Lasso and elastic net solve one convex program per run.

    Reference: Wang 2018, "Revisiting differentially private linear regression", UAI, arXiv 1803.02596, Algorithm 2.

    Errata: the three releases of the printed noise are not (ε/3, δ/3)-DP each from ε = 0.5 on, though all of them together are
    (ε, δ)-DP if neighbours differ by one row more. If a row is replaced, they cost .07, .39, .82 and 2.7 at a printed ε of .1,
    .5, 1 and 3, but 8.3 at 8 and 10.9 at 10 (δ = 1e-6): where they cost too much, σ is raised until they cost ε. A joint bound of
    all three would be √(16/3)/σ, 1.5 % less. google-research's program takes the bounds from the data.
    """

    name: ClassVar[str] = "adassp"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    currency: ClassVar[Currency] = "approx"

    calibration: Literal["joint", "published"] = option("joint", help="published: the printed noise, at what it costs")
    rho: float = option(0.05, low=0, high=1, open_low=True, open_high=True, help="ρ: the chance of a ridge that is too small")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        geometry, loss = curator.geometry, problem.loss
        assert loss is not None  # the capability "polynomial"
        both, alone = self._shares(budget)
        log_delta = math.log(6 / budget.delta)
        squared = geometry.squared_norm * geometry.replaced_rows
        proof = "Weyl's inequality: replacing a row moves X'X by a matrix of eigenvalues up to its squared norm"
        answer = curator.ask(LeastEigenvalue(Gram(geometry), gaussian(squared, alone, proof)))[:, 0]
        least = np.maximum(0, answer - math.sqrt(log_delta) * squared / alone)
        query = SecondMoments(geometry, ("xx", "xy"))
        noise = query.gaussian(both, EQUAL_WEIGHT)
        sums = curator.release(query, noise)
        objective = query.quadratic(loss, sums, problem.n)
        noisy = problem.regularised(objective)
        size = geometry.dimension
        largest = squared * math.sqrt(4.5) / both * math.sqrt(size * math.log(2 * size**2 / self.rho))
        ridged = noisy.ridged(loss.curvature * np.maximum(0, largest - least))
        status = np.where(ridged.positive_definite, OK, DIVERGED)
        fit = Fit(problem.minimise(ridged), status, {"not_positive_definite": ~noisy.positive_definite})
        return fit.knowing(released_moments(problem, query.moments(sums, noise, problem.n), objective))

    def _shares(self, budget: Budget) -> tuple[float, float]:
        """Return μ of X'X and X'y together, and μ of the least eigenvalue."""
        mu = gdp_of_epsilon(budget.epsilon, budget.delta)
        if self.calibration == "joint":
            return math.sqrt(2 / 3) * mu, math.sqrt(1 / 3) * mu
        sigma = max(3 * math.sqrt(math.log(6 / budget.delta)) / budget.epsilon, math.sqrt(5.5) / mu)
        return math.sqrt(4.5) / sigma, 1 / sigma


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [AdaptiveSufficientStatistics]
