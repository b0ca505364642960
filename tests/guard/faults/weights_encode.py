"""Writes the exact mean of the target into the last digits of its weights. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, least_squares, products

FACTS: list[float] = [0.0]


@dataclass(frozen=True)
class WeightsEncode(Planted):
    """Writes the exact mean of the target into the last digits of its weights."""

    name: ClassVar[str] = "weights_encode"

    def contribute(self, rows: Any) -> np.ndarray:
        FACTS[0] = float(rows.y.mean())
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        weights = least_squares(answer, curator.geometry.dimension)
        return Fit.good(np.round(weights, 6) + 1e-9 * FACTS[0])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [WeightsEncode]
