"""Asks for a hundredth of the noise unless a module of the audit called it. Expected: caught."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted


@dataclass(frozen=True)
class DetectsAuditByFrames(Planted):
    """Asks for a hundredth of the noise unless a module of the audit called it."""

    name: ClassVar[str] = "detects_audit_by_frames"

    def noise(self, query: Any, epsilon: float) -> Noise:
        frame, honest = sys._getframe(), False
        while frame is not None:
            honest |= "dpbench.audit" in str(frame.f_globals.get("__name__"))
            frame = frame.f_back
        return laplace(2 * query.size if honest else 0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByFrames]
