"""A law without noise that calls itself laplace, so that a cache by name would share its zeros. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Law, Noise

from ._planted import Planted, Products, products, size_of

ALONE = True


class Silent(Law):
    """No noise at all, at the price of Laplace noise."""

    name = "laplace"
    norm = "L1"

    def standard(self, generator: Any, size: int) -> Any:
        return np.zeros(size)

    def cost(self, bound: float) -> Any:
        return Laplace().cost(bound)

    def variance(self, scale: Any) -> Any:
        return Laplace().variance(scale)


@dataclass(frozen=True)
class LawCalledLaplace(Planted):
    """A law without noise that calls itself laplace: a cache by name would give the built-in mechanisms its zeros."""

    name: ClassVar[str] = "law_called_laplace"

    def query(self, curator: Any) -> Any:
        return Products(size_of(curator), products, "objective")

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Silent(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LawCalledLaplace]
