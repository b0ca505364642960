"""Writes into the weights, the sums and the moments of the cell that it attacks. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Attack, hookimpl


@dataclass(frozen=True)
class AttackWritesWeights(Attack):
    """Writes into the weights, the sums and the moments of the cell that it attacks."""

    name: ClassVar[str] = "attack_writes_weights"

    def run(self, target: Any) -> dict[str, Any]:
        for array in (target.train.moments.gram, target.block.grams, target.block.counts, target.weights):
            array *= 2
        return {"advantage": np.zeros(len(target.weights))}


@hookimpl
def dpbench_attacks() -> Any:
    return [AttackWritesWeights]
