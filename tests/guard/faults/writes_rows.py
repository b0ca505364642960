"""Writes into the rows that it is shown: later cells would fit other targets. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products

ALONE = True


@dataclass(frozen=True)
class WritesRows(Planted):
    """Writes into the rows that it is shown: later cells would fit other targets."""

    name: ClassVar[str] = "writes_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        rows.z[:, -1] = 0.0
        return products(rows)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [WritesRows]
