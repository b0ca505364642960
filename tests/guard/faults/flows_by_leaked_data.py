"""Chooses its noise by a declared leak. Expected: leaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class FlowsByLeakedData(Planted):
    """Chooses its noise by a declared leak."""

    name: ClassVar[str] = "flows_by_leaked_data"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        large = curator.leak("glance", "it looks", lambda sample: sample.moments.xy[:, 0] > 0)
        return self.finish(curator, self.ask(curator, budget) * np.where(large, 2, 1)[:, None])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [FlowsByLeakedData]
