"""Contributes its rows divided by their number in the chunk: a mean, whose sensitivity it understates. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted, products


@dataclass(frozen=True)
class MeansOfRows(Planted):
    """Contributes its rows divided by their number in the chunk: a mean, whose sensitivity it understates."""

    name: ClassVar[str] = "means_of_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        return products(rows) / len(rows.y)

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(2 * query.size / 1000, epsilon, "a mean moves by 2/n")

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, answer * curator.n[:, None])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [MeansOfRows]
