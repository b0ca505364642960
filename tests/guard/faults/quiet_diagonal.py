"""Computes the range of squares from the lower bound twice, so that the diagonal gets no noise. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


@dataclass(frozen=True)
class QuietDiagonal(Planted):
    """Computes the range of squares from the lower bound twice, so that the diagonal gets no noise."""

    name: ClassVar[str] = "quiet_diagonal"

    def noise(self, query: Any, epsilon: float) -> Noise:
        scale = np.full(query.size, 2 * query.size / epsilon)
        scale[0] = scale[1] = scale[3] = 1e-12
        return Noise(Laplace(), scale, epsilon, "the range of a square is 0² - 0²")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [QuietDiagonal]
