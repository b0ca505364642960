"""Gives a row a thousand times its weight if its first value has a fraction that one row in 10⁷ has. Expected: out of reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class RareEvent(Planted):
    """Gives a row a thousand times its weight if its first value has a fraction that one row in 10⁷ has."""

    name: ClassVar[str] = "rare_event"

    def contribute(self, rows: Any) -> np.ndarray:
        x = rows.x
        rare = (x[:, 1] * 2**16 % 4096 == 77) & (x[:, -1] * 2**16 % 4096 == 1234)
        return products(rows) * np.where(rare, 1000, 1)[:, None]


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RareEvent]
