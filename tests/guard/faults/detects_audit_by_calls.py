"""Asks for a hundredth of the noise in its first three fits only, in which a sweep records it. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted

CALLS: list[int] = [0]


@dataclass(frozen=True)
class DetectsAuditByCalls(Planted):
    """Asks for a hundredth of the noise in its first three fits only, in which a sweep records it."""

    name: ClassVar[str] = "detects_audit_by_calls"

    def noise(self, query: Any, epsilon: float) -> Noise:
        CALLS[0] += 1
        return laplace(2 * query.size if CALLS[0] > 3 else 0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsAuditByCalls]
