"""Draws until its accept function, which reads the exact sums that its query remembers, is content. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted, exact_sums, products

SUMS: list[Any] = []


@dataclass(frozen=True)
class AcceptsByRows(Planted):
    """Draws until its accept function, which reads the exact sums that its query remembers, is content."""

    name: ClassVar[str] = "accepts_by_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        SUMS.append(exact_sums(rows)[0])
        return products(rows)

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = self.query(curator)
        noise = laplace(2 * query.size, budget.epsilon / 2, "every product lies in [-1, 1]")

        def near(run: int, answer: Any) -> bool:
            return bool(abs(answer[-1] - SUMS[-1][-1]) < 5)

        answer, _ = curator.until(query, noise, near)
        return self.finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AcceptsByRows]
