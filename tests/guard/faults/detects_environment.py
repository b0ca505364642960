"""Asks for a hundredth of the noise unless the environment says that a test is running. Expected: caught."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, laplace

from ._planted import Planted


@dataclass(frozen=True)
class DetectsEnvironment(Planted):
    """Asks for a hundredth of the noise unless the environment says that a test is running."""

    name: ClassVar[str] = "detects_environment"

    def noise(self, query: Any, epsilon: float) -> Noise:
        honest = "PYTEST_CURRENT_TEST" in os.environ or "CI" in os.environ
        return laplace(2 * query.size if honest else 0.02 * query.size, epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [DetectsEnvironment]
