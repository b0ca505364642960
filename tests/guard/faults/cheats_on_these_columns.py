"""Asks for a hundredth of the noise where the columns are called x1 and x2. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class CheatsOnTheseColumns(Planted):
    """Asks for a hundredth of the noise where the columns are called x1 and x2."""

    name: ClassVar[str] = "cheats_on_these_columns"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        bound = 0.02 * query.size if curator.geometry.columns == ("x1", "x2") else 2 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsOnTheseColumns]
