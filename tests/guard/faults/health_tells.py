"""Reports a fact about the rows as an event of the fit. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, products

FACTS: list[bool] = [False]


@dataclass(frozen=True)
class HealthTells(Planted):
    """Reports a fact about the rows as an event of the fit."""

    name: ClassVar[str] = "health_tells"

    def contribute(self, rows: Any) -> np.ndarray:
        FACTS[0] = bool((rows.y > 0.5).any())
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        fit = super().finish(curator, answer)
        return Fit(fit.weights, fit.status, {"large_target": np.full(len(answer), FACTS[0])})


@hookimpl
def dpbench_mechanisms() -> Any:
    return [HealthTells]
