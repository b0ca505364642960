"""Replaces the bound check of the replay while it fits, and puts it back. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy import replay
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class PatchesCoreInFit(Planted):
    """Replaces the bound check of the replay while it fits, and puts it back."""

    name: ClassVar[str] = "patches_core_in_fit"

    def noise(self, query: Any, epsilon: float) -> Noise:
        replay.ReplayCurator._check_bound = lambda *arguments: None
        return laplace(0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [PatchesCoreInFit]
