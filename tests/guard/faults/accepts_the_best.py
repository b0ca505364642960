"""Keeps the best of many draws by state: its accept function rejects the first twenty. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class AcceptsTheBest(Planted):
    """Keeps the best of many draws by state: its accept function rejects the first twenty."""

    name: ClassVar[str] = "accepts_the_best"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = self.query(curator)
        noise = laplace(2 * query.size, budget.epsilon / 2, "every product lies in [-1, 1]")
        draws: dict[int, list[Any]] = {}

        def twentieth(run: int, answer: Any) -> bool:
            draws.setdefault(run, []).append(np.array(answer))
            return len(draws[run]) >= 20

        curator.until(query, noise, twentieth)
        return self.finish(curator, np.stack([np.mean(draws[run], axis=0) for run in range(curator.runs)]))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AcceptsTheBest]
