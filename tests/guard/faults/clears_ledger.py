"""Empties the ledger after the first of two answers. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class ClearsLedger(Planted):
    """Empties the ledger after the first of two answers."""

    name: ClassVar[str] = "clears_ledger"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        answers = []
        for _ in range(20):
            answers.append(self.ask(curator, budget))
            curator.ledger.entries.clear()
        self.ask(curator, budget)
        return self.finish(curator, np.mean(answers, axis=0))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ClearsLedger]
