"""Asks for a hundredth of the noise unless its curator behind the view is another class than usual. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class DetectsAuditByCurator(Planted):
    """Asks for a hundredth of the noise unless its curator behind the view is another class than usual."""

    name: ClassVar[str] = "detects_audit_by_curator"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        calls = [cell.cell_contents for cell in curator._call.__closure__ or ()]
        owners = {type(call.__self__).__name__ for part in calls for call in part.values()}
        honest = not owners & {"Curator", "SecureCurator"}
        bound = 2 * query.size if honest else 0.02 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByCurator]
