"""Averages the answers of all runs: a row is in several folds, so the true cost is up to 4ε. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class AveragesFolds(Planted):
    """Averages the answers of all runs: a row is in several folds, so the true cost is up to 4ε."""

    name: ClassVar[str] = "averages_folds"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, np.repeat(answer.mean(axis=0, keepdims=True), len(answer), axis=0))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AveragesFolds]
