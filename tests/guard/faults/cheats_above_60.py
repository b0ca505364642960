"""Is honest up to 60 rows, and asks for a hundredth of the noise above. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class CheatsAbove60(Planted):
    """Is honest up to 60 rows, and asks for a hundredth of the noise above."""

    name: ClassVar[str] = "cheats_above_60"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query, honest = self.query(curator), float(curator.n.min()) <= 60
        bound = 2 * query.size if honest else 0.02 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsAbove60]
