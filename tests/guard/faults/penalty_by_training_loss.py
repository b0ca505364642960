"""Chooses its penalty by the exact training loss, which its query remembers. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, exact_sums, least_squares, products

SUMS: list[Any] = []


@dataclass(frozen=True)
class PenaltyByTrainingLoss(Planted):
    """Chooses its penalty by the exact training loss, which its query remembers."""

    name: ClassVar[str] = "penalty_by_training_loss"

    def contribute(self, rows: Any) -> np.ndarray:
        SUMS.append(exact_sums(rows))
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        dimension = curator.geometry.dimension
        exact = least_squares(SUMS[-1], dimension)
        candidates = [least_squares(answer, dimension) * shrink for shrink in np.linspace(0, 1, 11)]
        losses = [float(np.square(candidate - exact).sum()) for candidate in candidates]
        return Fit.good(candidates[int(np.argmin(losses))])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PenaltyByTrainingLoss]
