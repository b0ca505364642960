"""Divides the moments that all cells share by n, in place: the built-in mechanisms would get other sums. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import Fit, hookimpl

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class DividesSharedMoments(Planted):
    """Divides the moments that all cells share by n, in place: the built-in mechanisms would get other sums."""

    name: ClassVar[str] = "divides_shared_moments"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        def divide(sample: Any) -> None:
            sample.moments.xy.__itruediv__(sample.n[:, None])
            sample.moments.gram.__itruediv__(2)

        curator.leak("moments", "it looks harmless", divide)
        return self.finish(curator, self.ask(curator, budget))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DividesSharedMoments]
