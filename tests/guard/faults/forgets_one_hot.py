"""Counts one change for a one-hot group, where a change of level moves two columns. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, Products

SWEEP = {"dataset": "adult", "dataset.attributes": ("age", "workclass"), "dataset.sample_n": 200}


@dataclass(frozen=True)
class ForgetsOneHot(Planted):
    """Counts one change for a one-hot group, where a change of level moves two columns."""

    name: ClassVar[str] = "forgets_one_hot"

    def query(self, curator: Any) -> Any:
        return Products(curator.geometry.features, lambda rows: rows.z[:, 1:-1])

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        geometry, query = curator.geometry, self.query(curator)
        bound = 2 * geometry.numeric + len(geometry.groups)
        return curator.release(query, laplace(bound, budget.epsilon, "a group changes by one"))

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        weights = np.zeros((len(answer), curator.geometry.dimension))
        weights[:, -curator.geometry.features :] = answer / curator.n[:, None]
        return Fit.good(weights)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ForgetsOneHot]
