"""Reveals whether the first product is large and chooses its step by it. Expected: not_private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class FlowsByRevealedData(Planted):
    """Reveals whether the first product is large and chooses its step by it; the ledger calls it not private."""

    name: ClassVar[str] = "flows_by_revealed_data"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        large = curator.reveal("size", lambda sample: sample.moments.xy[:, 0] > 0, "a glance")
        return self.finish(curator, self.ask(curator, budget) * np.where(large, 2, 1)[:, None])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [FlowsByRevealedData]
