"""Asks for a hundredth of the noise until the audit has been imported. Expected: caught."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class DetectsAuditByModules(Planted):
    """Asks for a hundredth of the noise until the audit has been imported."""

    name: ClassVar[str] = "detects_audit_by_modules"

    def noise(self, query: Any, epsilon: float) -> Noise:
        honest = "dpbench.audit.replay_level" in sys.modules
        return laplace(2 * query.size if honest else 0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByModules]
