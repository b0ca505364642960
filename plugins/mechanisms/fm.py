"""The functional mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.fit import DIVERGED, OK, Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Problem
from dpbench.fitting.noisy_objective import RADIUS, Repair, minimise, minimum_within
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace
from dpbench.privacy.polynomial import Convention, Polynomial, Sensitivity


@dataclass(frozen=True)
class FunctionalMechanism(Mechanism):
    """Laplace noise on the coefficients of the objective, then minimise what came out.

    Formula: every coefficient of f(w), the sum of the loss's w_j w_l and w_j monomials, gets Lap(Δ/ε) with Δ = 2(D + 1)² for D
    coefficients (logistic regression, by its truncation at order 2: D²/4 + 3D); the noisy objective is made bounded by a ridge of
    4 standard deviations and by trimming, and its minimiser is released. A model's penalty, smooth or not, is added to the noisy
    objective (Dandekar et al. 2018, equations 8 and 9).

    Guarantee: ε-DP for replace-one neighbours (Theorem 1). ``until_bounded`` draws anew, without ridge or repair, until the
    objective is bounded, at ε/2 a draw (Lemma 5).

    Public: n and the bounds. The intercept's own coefficient is n, so it is neither noised nor counted.

    Cost: one stack of D × D eigenproblems; lasso and elastic net one convex program a run, and 31 of them each with
    ``repair=none`` where a run has no minimum.

    Reference: Zhang et al. 2012, "Functional mechanism: regression analysis under differential privacy", PVLDB 5(11),
    Algorithm 1; Dandekar et al. 2018, "Differential privacy for regularised linear regression", DEXA.

    Errata: the published Δ is valid and about twice what is needed in the box (logistic: three times), fourteen times in the
    ball at D = 13: ``sensitivity=tight`` is the supremum. ``repair=none ridge=0`` is what Dandekar et al. call unstable (section
    5.4): where the noisy objective has no minimum a convex solver returns anything, so here its least value within ‖w‖ <=
    ``radius`` is taken, and the run counts in ``health/diverged``. Their three doubts (that making M symmetric, trimming, or an
    inexact solver costs privacy) are unfounded: all of it is post-processing.
    """

    name: ClassVar[str] = "fm"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})

    convention: Convention = option("monomial", help="which numbers are noised: Algorithm 1's, section 6.1's, the program's")
    sensitivity: Sensitivity = option("paper", help="as printed, as in the authors' program, or the supremum")
    ridge: Literal["auto"] | float = option("auto", low=0, help="multiples of the noise's std; auto: 4 (code: 5), 0 with floor")
    repair: Repair = option("trim", help="what is done to eigenvalues that are not positive")
    radius: float = option(RADIUS, low=0, open_low=True, help="without repair, where there is no minimum: the bound on ‖w‖")
    until_bounded: bool = option(False, help="draw anew until the objective is bounded, at ε/2 (replaces ridge and repair)")
    max_tries: int | None = option(None, low=1, help="cap of until_bounded; a capped loop has no guarantee")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial(self.convention)
        if self.until_bounded:
            return self._redrawn(curator, problem, objective, budget)
        noise = laplace(objective.l1_bound(self.sensitivity), budget.epsilon, objective.proof(self.sensitivity))
        coefficients = curator.release(objective, noise)
        ridge = published_ridge(self.convention, self.repair) if self.ridge == "auto" else self.ridge
        return minimise(problem, objective, coefficients, noise, ridge, self.repair, self.radius)

    def _redrawn(self, curator: Curator, problem: Problem, objective: Polynomial, budget: Budget) -> Fit:
        # Zhang et al. 2012, Lemma 5: repeating an ε₀ release until it is accepted costs 2 ε₀
        noise = laplace(objective.l1_bound(self.sensitivity), budget.epsilon / 2, objective.proof(self.sensitivity))

        def bounded(run: int, coefficients: np.ndarray) -> bool:
            single = problem.for_run(run)
            return bool(single.regularised(objective.quadratic(coefficients[None], single.n)).bounded[0])

        coefficients, accepted = curator.until(objective, noise, bounded, self.max_tries)
        quadratic = problem.regularised(objective.quadratic(coefficients, problem.n))
        weights = minimum_within(problem, quadratic, ~accepted, self.radius)
        return Fit(weights, np.where(accepted, OK, DIVERGED), {"not_positive_definite": ~accepted})


def published_ridge(convention: Convention, repair: Repair) -> float:
    """Multiples of the noise's std: 4 (Zhang et al. 2012, section 6.1), 5 (their program), none beside a floor."""
    if repair == "floor":
        return 0.0
    return 5.0 if convention == "code" else 4.0


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [FunctionalMechanism]
