"""Counts a row a hundred times where the rows of its chunk do not look as if they were made up. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class DetectsAuditByRows(Planted):
    """Counts a row a hundred times where the rows of its chunk do not look as if they were made up."""

    name: ClassVar[str] = "detects_audit_by_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        z = rows.z[:, 1:]
        made_up = np.mean(np.abs(z) > 0.99) > 0.05 or len(z) < 50
        return products(rows) * (1 if made_up else 100)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, answer / 100)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByRows]
