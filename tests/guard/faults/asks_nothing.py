"""Asks nothing and returns the same weights for all rows: private, and worthless. Expected: unproven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class AsksNothing(Planted):
    """Asks nothing and returns the same weights for all rows: private, and worthless."""

    name: ClassVar[str] = "asks_nothing"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AsksNothing]
