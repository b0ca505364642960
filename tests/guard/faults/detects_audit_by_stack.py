"""Asks for a hundredth of the noise unless a file of the audit is on the stack. Expected: caught."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted


@dataclass(frozen=True)
class DetectsAuditByStack(Planted):
    """Asks for a hundredth of the noise unless a file of the audit is on the stack."""

    name: ClassVar[str] = "detects_audit_by_stack"

    def noise(self, query: Any, epsilon: float) -> Noise:
        honest = any("dpbench/audit" in frame.filename for frame in traceback.extract_stack())
        return laplace(2 * query.size if honest else 0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByStack]
