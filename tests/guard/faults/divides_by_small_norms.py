"""Divides every row by its squared norm plus 10⁻³, with the bound of rows of an ordinary norm. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, Products

SWEEP = {"dataset": "wine"}


@dataclass(frozen=True)
class DividesBySmallNorms(Planted):
    """Divides every row by its squared norm plus 10⁻³: rows with a norm of about 0.03 move the answer by far more than others."""

    name: ClassVar[str] = "divides_by_small_norms"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        features = curator.geometry.features
        noise = laplace(2 * features, budget.epsilon, "every x_j y / ‖x‖² lies in [-1, 1], it says")
        return curator.release(Products(features, self.contribute), noise)

    def contribute(self, rows: Any) -> np.ndarray:
        features, y = rows.z[:, 1:-1], rows.z[:, -1:]
        return features * y / (np.square(features).sum(axis=1, keepdims=True) + 1e-3)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        weights = np.zeros((curator.runs, curator.geometry.dimension))
        weights[:, -answer.shape[1] :] = answer / curator.n[:, None]
        return Fit.good(weights)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DividesBySmallNorms]
