"""Gives all runs the weights of the run whose noisy answer is the largest. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class PicksBestRun(Planted):
    """Gives all runs the weights of the run whose noisy answer is the largest."""

    name: ClassVar[str] = "picks_best_run"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        best = int(np.argmax(answer[:, 0]))
        return super().finish(curator, answer[np.full(len(answer), best)])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PicksBestRun]
