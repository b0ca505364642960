"""Drops rows whose target lies more than 3 standard deviations from the mean of all targets. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products

SWEEP = {"dataset": "wine"}


@dataclass(frozen=True)
class DropsOutliers(Planted):
    """Drops rows whose target lies more than 3 standard deviations from the mean: one row decides about many others."""

    name: ClassVar[str] = "drops_outliers"

    def contribute(self, rows: Any) -> np.ndarray:
        kept = np.abs(rows.y - rows.y.mean()) <= 3 * rows.y.std()
        return products(rows) * kept[:, None]


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DropsOutliers]
