"""Keeps the weights that it returned and overwrites them when it is asked again. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted

KEPT: list[Any] = []


@dataclass(frozen=True)
class AltersWeightsLater(Planted):
    """Keeps the weights that it returned and overwrites them when it is asked again."""

    name: ClassVar[str] = "alters_weights_later"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        for weights in KEPT:
            weights[:] = 7.0
        fit = super().finish(curator, answer)
        KEPT.append(fit.weights)
        return fit


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AltersWeightsLater]
