"""Reports the exact mean of the target as a note of the fit. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, products

FACTS: list[float] = [0.0]


@dataclass(frozen=True)
class NotesTell(Planted):
    """Reports the exact mean of the target as a note of the fit."""

    name: ClassVar[str] = "notes_tell"

    def contribute(self, rows: Any) -> np.ndarray:
        FACTS[0] = float(rows.y.mean())
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        fit = super().finish(curator, answer)
        return Fit(fit.weights, fit.status, {}, {"mean_target": FACTS[0]})


@hookimpl
def dpbench_mechanisms() -> Any:
    return [NotesTell]
