"""Writes into the rows of the block that it attacks. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Attack, hookimpl


@dataclass(frozen=True)
class AttackWritesRows(Attack):
    """Writes into the rows of the block that it attacks."""

    name: ClassVar[str] = "attack_writes_rows"

    def run(self, target: Any) -> dict[str, Any]:
        rows = target.block.rows(0)
        rows.z[:, -1] = 0.0
        return {"advantage": np.zeros(len(target.weights))}


@hookimpl
def dpbench_attacks() -> Any:
    return [AttackWritesRows]
