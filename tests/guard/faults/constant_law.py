"""A law that always draws the same number. Expected: unproven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import Laplace, Law, Noise

from ._planted import Planted


class Constant(Law):
    """The number one."""

    name = "constant"
    norm = "L1"

    def standard(self, generator: Any, size: int) -> Any:
        return np.ones(size)

    def cost(self, bound: float) -> Any:
        return Laplace().cost(bound)

    def variance(self, scale: Any) -> Any:
        return Laplace().variance(scale)


@dataclass(frozen=True)
class ConstantLaw(Planted):
    """A law that always draws the same number."""

    name: ClassVar[str] = "constant_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Constant(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, answer - 2 * answer.shape[1])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ConstantLaw]
