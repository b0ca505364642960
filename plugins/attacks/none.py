"""The default: no attack is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.attack import Attack, AttackTarget
from dpbench.contracts.hooks import hookimpl


@dataclass(frozen=True)
class NoAttack(Attack):
    """Run no attack: measure accuracy and account for privacy only."""

    name: ClassVar[str] = "none"
    attacks_nothing: ClassVar[bool] = True
    handles_persons: ClassVar[bool] = True

    def run(self, target: AttackTarget) -> dict[str, np.ndarray]:
        return {}


@hookimpl
def dpbench_attacks() -> list[type[Attack]]:
    return [NoAttack]
