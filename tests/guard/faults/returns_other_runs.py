"""Returns weights for one run more than it was asked for. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class ReturnsOtherRuns(Planted):
    """Returns weights for one run more than it was asked for."""

    name: ClassVar[str] = "returns_other_runs"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, np.concatenate([answer, answer[:1]]))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ReturnsOtherRuns]
