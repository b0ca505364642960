"""Fails if a row has a large target: that it failed is a fact about the rows. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class RaisesOnRows(Planted):
    """Fails if a row has a large target: that it failed is a fact about the rows."""

    name: ClassVar[str] = "raises_on_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        if (np.abs(rows.y) > 0.999).any():
            raise ArithmeticError("a large target")
        return products(rows)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RaisesOnRows]
