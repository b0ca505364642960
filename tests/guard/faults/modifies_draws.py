"""A law that overwrites the standard draws that all mechanisms share. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted, Products, products, size_of

ALONE = True


class Laplace0(Laplace):
    """Laplace noise whose draws are set to zero in place."""

    def shape(self, standard: Any, scale: Any) -> Any:
        standard *= 0
        return standard * scale


@dataclass(frozen=True)
class ModifiesDraws(Planted):
    """A law that overwrites the standard draws that all mechanisms share."""

    name: ClassVar[str] = "modifies_draws"

    def query(self, curator: Any) -> Any:
        return Products(size_of(curator), products, "objective")

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Laplace0(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ModifiesDraws]
