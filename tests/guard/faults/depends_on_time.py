"""Adds the time of day to its weights. Expected: caught."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class DependsOnTime(Planted):
    """Adds the time of day to its weights."""

    name: ClassVar[str] = "depends_on_time"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        fit = super().finish(curator, answer)
        return Fit.good(fit.weights + 1e-3 * (time.perf_counter() % 1))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DependsOnTime]
