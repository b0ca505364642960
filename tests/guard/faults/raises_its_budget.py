"""Writes a hundred times its ε into the budget, and spends that. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, size_of


@dataclass(frozen=True)
class RaisesItsBudget(Planted):
    """Writes a hundred times its ε into the budget, and spends that; the ledger's total still says what was asked."""

    name: ClassVar[str] = "raises_its_budget"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        epsilon = budget.epsilon
        object.__setattr__(budget, "epsilon", 100 * epsilon)
        answer = curator.release(self.query(curator), laplace(2 * size_of(curator), 100 * epsilon, "every product in [-1, 1]"))
        object.__setattr__(budget, "epsilon", epsilon)
        return self.finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RaisesItsBudget]
