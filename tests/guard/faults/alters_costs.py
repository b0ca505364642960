"""Keeps the cost of its noise and divides it by a hundred after the call. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.accounting.costs import Pure
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted

COSTS: list[Any] = []


@dataclass(frozen=True)
class Memorable(Noise):
    """Noise whose cost can be found again."""

    @property
    def cost(self) -> Any:
        COSTS.append(Pure(float(self.bound)))
        return COSTS[-1]


@dataclass(frozen=True)
class AltersCosts(Planted):
    """Keeps the cost of its noise and divides it by a hundred after the call."""

    name: ClassVar[str] = "alters_costs"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        scale = np.array([2 * query.size / (100 * budget.epsilon)])
        noise = Memorable(Laplace(), scale, budget.epsilon, "every product lies in [-1, 1]")
        answer = curator.release(query, noise)
        for cost in COSTS:
            object.__setattr__(cost, "epsilon", budget.epsilon)
        return answer


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AltersCosts]
