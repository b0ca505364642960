"""What the tests of the conformance kit share: small components with one fault each, and the outcomes of their checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from dpbench import Fit, Mechanism, option
from dpbench.noise import laplace
from dpbench.testing.kinds import case_of
from dpbench.testing.running import run_check


@dataclass(frozen=True)
class Plain(Mechanism):
    """Run the functional mechanism without a ridge.

    Formula: the coefficients of the objective plus Lap(Δ/ε).

    Guarantee: ε-DP for replace-one neighbours; n and the bounds are public.

    Reference: none; it is an example.
    """

    name = "plain"
    guarantee = "ε-DP"
    needs = frozenset({"polynomial"})

    shrink: float = option(1.0, low=0, high=1, help="the factor of the weights")

    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        noise = laplace(objective.l1_bound("tight"), budget.epsilon, objective.proof("tight"))
        return self.finish(problem, objective.quadratic(curator.release(objective, noise), problem.n))

    def finish(self, problem, noisy):
        return Fit.good(self.shrink * problem.minimise(problem.regularised(noisy).trimmed()))


@pytest.fixture(scope="session")
def plain() -> type[Plain]:
    """A mechanism that keeps every law."""
    return Plain


@pytest.fixture(scope="session")
def outcome() -> Callable[[Any, Any], str]:
    """The state of one check of a component, and how the law was broken, in one line."""

    def of(check: Any, component: Any) -> str:
        finding = run_check(check, case_of(component), component)
        return f"{finding.state}: {finding.text}"

    return of
