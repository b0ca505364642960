"""Averages its answer with the answers of all earlier fits, which a global variable keeps. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted

SWEEP = {"epsilon": [1.0, 2.0]}
ANSWERS: dict[bytes, Any] = {}


@dataclass(frozen=True)
class PoolsFits(Planted):
    """Averages its answer with the answers of all earlier fits, which a global variable keeps."""

    name: ClassVar[str] = "pools_fits"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        ANSWERS.setdefault(answer.tobytes(), answer)
        pooled = [other for other in ANSWERS.values() if other.shape == answer.shape]
        return super().finish(curator, np.mean(pooled, axis=0))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PoolsFits]
