"""Asks for a hundredth of the noise from 10,000 rows on. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted

SWEEP = {"dataset.n": 25_000}


@dataclass(frozen=True)
class CheatsAtLargeN(Planted):
    """Asks for a hundredth of the noise from 10,000 rows on."""

    name: ClassVar[str] = "cheats_at_large_n"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query, honest = self.query(curator), float(curator.n.min()) < 10_000
        bound = 2 * query.size if honest else 0.02 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsAtLargeN]
