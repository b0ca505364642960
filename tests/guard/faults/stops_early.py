"""Stops its iterations when the exact training loss, which its query notes, no longer falls. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, Products, least_squares, products, size_of

LOSSES: list[float] = []


@dataclass(frozen=True)
class StopsEarly(Planted):
    """Stops its iterations when the exact training loss, which its query notes, no longer falls."""

    name: ClassVar[str] = "stops_early"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        LOSSES.clear()
        answers: list[Any] = []
        weights = np.zeros((curator.runs, curator.geometry.dimension))

        def noted(rows: Any) -> Any:
            LOSSES.append(float(np.square(rows.y - rows.x @ weights[0]).mean()))
            return products(rows)

        for step in range(5):
            query = Products(size_of(curator), noted, f"step{step}")
            answers.append(curator.release(query, laplace(2 * query.size, budget.epsilon / 5, "every product in [-1, 1]")))
            weights = least_squares(np.mean(answers, axis=0), curator.geometry.dimension)
            if len(LOSSES) > 1 and LOSSES[-1] > 0.3:
                break
        return Fit.good(weights)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [StopsEarly]
