"""Asks for a hundredth of the noise in the ball. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted

SWEEP = {"dataset.scaling": "ball"}


@dataclass(frozen=True)
class CheatsInTheBall(Planted):
    """Asks for a hundredth of the noise in the ball."""

    name: ClassVar[str] = "cheats_in_the_ball"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        bound = 2 * query.size if curator.geometry.scaling == "box" else 0.02 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsInTheBall]
