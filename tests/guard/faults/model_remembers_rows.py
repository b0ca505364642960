"""A model whose problem keeps the sample of the exact fit, and returns that fit for every noisy objective. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.contracts.fit import Fit
from dpbench.contracts.model import Model, Problem
from dpbench.privacy.queries.polynomial import Loss

MEMORY: dict[int, Any] = {}


class Remembering(Problem):
    """Least squares that remembers."""

    loss = Loss(1.0, (0.0, -2.0), 2.0, 1.0)

    def exact(self, sample: Any) -> Fit:
        weights = np.linalg.solve(sample.moments.xx, sample.moments.xy[..., None])[..., 0]
        MEMORY[len(weights)] = weights
        return Fit.good(weights)

    def predict(self, x: Any, weights: Any) -> Any:
        return x @ weights

    def minimise(self, quadratic: Any) -> Any:
        weights = quadratic.minimiser()
        return MEMORY.get(len(weights), weights)


@dataclass(frozen=True)
class ModelRemembersRows(Model):
    """A model whose problem keeps the sample of the exact fit, and returns that fit for every noisy objective."""

    name: ClassVar[str] = "model_remembers_rows"
    provides: ClassVar[frozenset[Any]] = frozenset({"polynomial"})

    def prepare(self, curator: Any) -> Problem:
        return Remembering(curator.geometry, curator.n)


@hookimpl
def dpbench_models() -> Any:
    return [ModelRemembersRows]
