"""The functional mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpbench.fit import DIVERGED, OK, Fit
from dpbench.hooks import hookimpl
from dpbench.mechanism import Mechanism
from dpbench.model import Capability, Problem
from dpbench.noisy_objective import Repair, minimise
from dpbench.options import option
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace
from dpbench.privacy.polynomial import Convention, Polynomial, Sensitivity


@dataclass(frozen=True)
class FunctionalMechanism(Mechanism):
    """Laplace noise on the coefficients of the objective, then minimise what came out.

    Every coefficient of f(w) = sum of w_j w_l and w_j monomials gets Lap(Δ/ε), the objective is made bounded, and its
    minimiser is released.

    Guarantee: ε-DP for replace-one neighbours, n and the bounds public (Zhang et al. 2012, Algorithm 1 and Theorem 1). The
    published Δ = 2(D + 1)² is valid and about twice what is needed in the box, fourteen times in the ball at D = 13:
    ``sensitivity=tight`` is the supremum. The intercept's own coefficient is n, so it is neither noised nor counted.
    ``until_bounded`` draws anew, without ridge or repair, until the objective is bounded, at ε/2 a draw (Lemma 5).
    """

    name: ClassVar[str] = "fm"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})

    convention: Convention = option("monomial", help="which numbers are noised: Algorithm 1's, section 6.1's, the program's")
    sensitivity: Sensitivity = option("paper", help="as printed, as in the authors' program, or the supremum")
    ridge: Literal["auto"] | float = option("auto", low=0, help="multiples of the noise's std; auto: 4 (code: 5), 0 with floor")
    repair: Repair = option("trim", help="what is done to eigenvalues that are not positive")
    until_bounded: bool = option(False, help="draw anew until the objective is bounded, at ε/2 (replaces ridge and repair)")
    max_tries: int | None = option(None, low=1, help="cap of until_bounded; a capped loop has no guarantee")

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial(self.convention)
        if self.until_bounded:
            return self._redrawn(curator, problem, objective, budget)
        noise = laplace(objective.l1_bound(self.sensitivity), budget.epsilon, objective.proof(self.sensitivity))
        coefficients = curator.release(objective, noise)
        return minimise(problem, objective, coefficients, noise, self._ridge(), self.repair)

    def _ridge(self) -> float:
        if self.ridge != "auto":
            return self.ridge
        if self.repair == "floor":
            return 0.0
        return 5.0 if self.convention == "code" else 4.0

    def _redrawn(self, curator: Curator, problem: Problem, objective: Polynomial, budget: Budget) -> Fit:
        # Zhang et al. 2012, Lemma 5: repeating an ε₀ release until it is accepted costs 2 ε₀
        noise = laplace(objective.l1_bound(self.sensitivity), budget.epsilon / 2, objective.proof(self.sensitivity))

        def bounded(run: int, coefficients: np.ndarray) -> bool:
            single = problem.one(run)
            return bool(single.regularised(objective.quadratic(coefficients[None], single.n)).bounded[0])

        coefficients, accepted = curator.until(objective, noise, bounded, self.max_tries)
        quadratic = problem.regularised(objective.quadratic(coefficients, problem.n))
        return Fit(problem.minimise(quadratic), np.where(accepted, OK, DIVERGED), {"not_positive_definite": ~accepted})


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [FunctionalMechanism]
