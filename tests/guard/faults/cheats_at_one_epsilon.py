"""Asks for a hundredth of the noise at every ε that is not 1. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted

SWEEP = {"epsilon": 2.5}


@dataclass(frozen=True)
class CheatsAtOneEpsilon(Planted):
    """Asks for a hundredth of the noise at every ε that is not 1."""

    name: ClassVar[str] = "cheats_at_one_epsilon"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(2 * query.size if epsilon == 1 else 0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsAtOneEpsilon]
