"""Asks curators of single runs and never brings their ledgers back: the record would say ε = 0. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class ForgetsSpending(Planted):
    """Asks curators of single runs and never brings their ledgers back: the record would say ε = 0."""

    name: ClassVar[str] = "forgets_spending"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = self.query(curator)
        noise = laplace(2 * query.size, budget.epsilon, "every product lies in [-1, 1]")
        for _ in range(50):
            singles = [curator.for_run(run) for run in range(curator.runs)]
            answer = np.concatenate([single.release(query, noise) for single in singles])
        return self.finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ForgetsSpending]
