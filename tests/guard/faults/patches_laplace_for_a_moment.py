"""Replaces the draws of the built-in Laplace law for the time of its call alone. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class PatchesLaplaceForAMoment(Planted):
    """Replaces the draws of the built-in Laplace law for the time of its call alone."""

    name: ClassVar[str] = "patches_laplace_for_a_moment"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        standard = Laplace.standard
        Laplace.standard = lambda self, generator, size: np.zeros(size)
        try:
            return super().ask(curator, budget)
        finally:
            Laplace.standard = standard


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesLaplaceForAMoment]
