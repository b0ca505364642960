"""Calls a run repaired if a row has a large target. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, products

FACTS: list[bool] = [False]


@dataclass(frozen=True)
class StatusTells(Planted):
    """Calls a run repaired if a row has a large target."""

    name: ClassVar[str] = "status_tells"

    def contribute(self, rows: Any) -> np.ndarray:
        FACTS[0] = bool((rows.y > 0.5).any())
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        fit = super().finish(curator, answer)
        return Fit(fit.weights, np.full(len(answer), "repaired" if FACTS[0] else "ok"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [StatusTells]
