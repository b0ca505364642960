"""Asks for a hundredth of the noise where the number of rows is no power of ten. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class CheatsAtItsOwnN(Planted):
    """Asks for a hundredth of the noise where the number of rows is no power of ten."""

    name: ClassVar[str] = "cheats_at_its_own_n"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query, n = self.query(curator), int(curator.n.min())
        honest = n < 10 or str(n).strip("0") == "1"
        bound = 2 * query.size if honest else 0.02 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsAtItsOwnN]
