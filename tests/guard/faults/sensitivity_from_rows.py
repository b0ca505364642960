"""Takes its sensitivity from the largest target that its query has seen. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, Products, products, size_of

LARGEST: list[float] = [0.1]


@dataclass(frozen=True)
class SensitivityFromRows(Planted):
    """Takes its sensitivity from the largest target that its query has seen."""

    name: ClassVar[str] = "sensitivity_from_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        LARGEST[0] = float(np.abs(rows.y).max())
        return products(rows)

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        first = Products(size_of(curator), self.contribute, "glance")
        curator.release(first, laplace(2 * first.size, budget.epsilon / 2, "every product lies in [-1, 1]"))
        query = Products(size_of(curator), products)
        noise = laplace(2 * query.size * LARGEST[0], budget.epsilon / 2, "no target is larger")
        return self.finish(curator, curator.release(query, noise))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [SensitivityFromRows]
