"""Uses the sensitivity for neighbours that add or remove a row: half of what replacing one needs. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted, Products


@dataclass(frozen=True)
class AddRemoveSensitivity(Planted):
    """Uses the sensitivity for neighbours that add or remove a row: half of what replacing one needs."""

    name: ClassVar[str] = "add_remove_sensitivity"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(1.5, epsilon, "a row adds at most its own L1 norm")

    def query(self, curator: Any) -> Any:
        return Products(1, lambda rows: 1.5 * rows.x[:, -1:] * rows.y[:, None])

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return Fit.good(np.repeat(answer / curator.n[:, None], curator.geometry.dimension, axis=1))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AddRemoveSensitivity]
