"""A mechanism in the words of dpbench's contract, written for one run at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench import Mechanism, OneRunMechanism, hookimpl, option
from dpbench.contracts.mechanism import OneRunCurator
from dpbench.contracts.model import Capability, Problem
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import laplace


@dataclass(frozen=True)
class Shrunken(OneRunMechanism):
    """The minimiser of a noisy objective, moved towards zero.

    Guarantee: ε-DP for replace-one neighbours, n and the bounds public: Laplace noise on the objective's coefficients, then
    nothing but post-processing.
    """

    name: ClassVar[str] = "stranger"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})

    shrink: float = option(0.5, low=0, high=1, help="how far towards zero: 1 is all the way")

    def fit_run(self, curator: OneRunCurator, problem: Problem, budget: Budget) -> np.ndarray:
        objective = problem.polynomial()
        noise = laplace(objective.l1_bound("tight"), budget.epsilon, objective.proof("tight"))
        coefficients = curator.release(objective, noise)[None]
        noisy = problem.regularised(objective.quadratic(coefficients, problem.n))
        return (1 - self.shrink) * problem.minimise(noisy.trimmed())[0]


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [Shrunken]
