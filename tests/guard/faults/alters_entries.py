"""Divides the cost of an entry of the ledger by a hundred after the call. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted

ALONE = True


@dataclass(frozen=True)
class AltersEntries(Planted):
    """Divides the cost of an entry of the ledger by a hundred after the call."""

    name: ClassVar[str] = "alters_entries"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = self.query(curator)
        answer = curator.release(query, laplace(2 * query.size, budget.epsilon, "every product lies in [-1, 1]"))
        for entry in curator.ledger.entries:
            object.__setattr__(entry.cost, "epsilon", entry.cost.epsilon / 100)
        return self.finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [AltersEntries]
