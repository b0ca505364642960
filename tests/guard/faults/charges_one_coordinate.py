"""Charges the sensitivity of one coordinate for a vector of many. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted


@dataclass(frozen=True)
class ChargesOneCoordinate(Planted):
    """Charges the sensitivity of one coordinate for a vector of many."""

    name: ClassVar[str] = "charges_one_coordinate"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(2, epsilon, "a product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ChargesOneCoordinate]
