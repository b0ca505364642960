"""Returns NaN weights where a row has a large target, which its own memory tells. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, least_squares, products

FACTS: list[bool] = [False]


@dataclass(frozen=True)
class NanWeights(Planted):
    """Returns NaN weights where a row has a large target, which its own memory tells."""

    name: ClassVar[str] = "nan_weights"

    def contribute(self, rows: Any) -> np.ndarray:
        FACTS[0] = bool((rows.y > 0.5).any())
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        weights = least_squares(answer, curator.geometry.dimension)
        return Fit.good(np.full_like(weights, np.nan) if FACTS[0] else weights)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [NanWeights]
