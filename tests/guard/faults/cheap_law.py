"""A law that charges a hundredth of what its noise costs. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted


class Cheap(Laplace):
    """Laplace noise on sale."""

    name = "cheap"

    def cost(self, bound: float) -> Any:
        return super().cost(bound / 100)

    def cdf(self, x: Any, scale: Any) -> Any:
        tail = np.exp(-np.abs(x) / scale) / 2
        return np.where(x < 0, tail, 1 - tail)


@dataclass(frozen=True)
class CheapLaw(Planted):
    """A law that charges a hundredth of what its noise costs."""

    name: ClassVar[str] = "cheap_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Cheap(), np.array([0.02 * query.size / epsilon]), 100 * epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheapLaw]
