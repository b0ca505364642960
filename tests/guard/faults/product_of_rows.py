"""Contributes running products over the rows of a chunk. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class ProductOfRows(Planted):
    """Contributes running products over the rows of a chunk."""

    name: ClassVar[str] = "product_of_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        return np.cumprod(np.where(products(rows) < 0, -1.0, 1.0), axis=0)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [ProductOfRows]
