"""No attack: the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench.contracts.attack import Attack, Target
from dpbench.contracts.hooks import hookimpl


@dataclass(frozen=True)
class NoAttack(Attack):
    """Nothing is attacked; accuracy and privacy accounting only."""

    name: ClassVar[str] = "none"

    def run(self, target: Target) -> dict[str, np.ndarray]:
        return {}


@hookimpl
def dpbench_attacks() -> list[type[Attack]]:
    return [NoAttack]
