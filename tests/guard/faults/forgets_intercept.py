"""Leaves the products with the intercept out of its sensitivity. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted, products


@dataclass(frozen=True)
class ForgetsIntercept(Planted):
    """Leaves the products with the intercept out of its sensitivity."""

    name: ClassVar[str] = "forgets_intercept"

    def noise(self, query: Any, epsilon: float) -> Noise:
        # for two columns: x1², x1x2, x2², x1y, x2y; the products of the intercept with x1, x2 and y are forgotten
        return laplace(2 * 1.0 * 2 + 1.0 * 3, epsilon, "five products in [-1, 1], squares move by one")

    def contribute(self, rows: Any) -> np.ndarray:
        return products(rows)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ForgetsIntercept]
