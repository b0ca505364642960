"""Replaces the draws of the built-in Laplace law while it fits, and does not put them back. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import Laplace, Noise

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class PatchesLaplaceInFit(Planted):
    """Replaces the draws of the built-in Laplace law while it fits, and does not put them back."""

    name: ClassVar[str] = "patches_laplace_in_fit"

    def noise(self, query: Any, epsilon: float) -> Noise:
        Laplace.standard = lambda self, generator, size: np.zeros(size)
        return super().noise(query, epsilon)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesLaplaceInFit]
