"""Asks for a hundredth of the noise where it is asked for as many runs as a sweep or a release has. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class DetectsAuditByRuns(Planted):
    """Asks for a hundredth of the noise where it is asked for as many runs as a sweep or a release has."""

    name: ClassVar[str] = "detects_audit_by_runs"

    def ask(self, curator: Any, budget: Any) -> np.ndarray:
        query = self.query(curator)
        bound = 0.02 * query.size if curator.runs in (1, 4) else 2 * query.size
        return curator.release(query, laplace(bound, budget.epsilon, "every product lies in [-1, 1]"))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByRuns]
