"""Calibrates Laplace noise to the L2 sensitivity. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted


@dataclass(frozen=True)
class L2ForL1(Planted):
    """Calibrates Laplace noise to the L2 sensitivity."""

    name: ClassVar[str] = "l2_for_l1"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(2 * np.sqrt(query.size) / 2, epsilon, "the Euclidean norm of a row's products")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [L2ForL1]
