"""Has an option that is off by default, and asks for a hundredth of the noise with it. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl, option
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted

SWEEP = {"mechanism.quick": True}


@dataclass(frozen=True)
class CheatsWithAnOption(Planted):
    """Has an option that is off by default, and asks for a hundredth of the noise with it."""

    name: ClassVar[str] = "cheats_with_an_option"

    quick: bool = option(False, help="converge faster")

    def noise(self, query: Any, epsilon: float) -> Noise:
        return laplace(0.02 * query.size if self.quick else 2 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CheatsWithAnOption]
