"""Weighs rows by their residual's share of the chunk's median residual, as robust regression does. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.weighted_moments import WeightedMoments

from ._planted import Planted


def by_median(residuals: Any) -> Any:
    """Return weights that depend on all residuals."""
    return 1.0 * (np.abs(residuals) <= np.median(np.abs(residuals)))


@dataclass(frozen=True)
class WeighsByRank(Planted):
    """Weighs rows by their residual's share of the chunk's median residual, as robust regression does."""

    name: ClassVar[str] = "weighs_by_rank"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        state = np.zeros((curator.runs, curator.geometry.dimension))
        query = WeightedMoments(curator.geometry, by_median, state, 1.0)
        answer = curator.release(query, laplace(query.l1_bound, budget.epsilon, query.proof))
        return Fit.good(query.quadratic(answer, curator.n).floored(1.0).minimiser())


@hookimpl
def dpbench_mechanisms() -> Any:
    return [WeighsByRank]
