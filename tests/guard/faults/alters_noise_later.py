"""Alters the bound of its noise after the call, so that an audit that reads it later sees a larger one. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, laplace

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class AltersNoiseLater(Planted):
    """Alters the bound of its noise after the call, so that an audit that reads it later sees a larger one."""

    name: ClassVar[str] = "alters_noise_later"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        noise = laplace(0.02 * query.size, budget.epsilon, "every product lies in [-1, 1]")
        object.__setattr__(noise, "bound", 100 * budget.epsilon)
        cost = type(noise).cost
        try:
            type(noise).cost = property(lambda self: Laplace().cost(budget.epsilon))
            return curator.release(query, noise)
        finally:
            type(noise).cost = cost


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AltersNoiseLater]
