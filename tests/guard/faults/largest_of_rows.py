"""Contributes the largest value of all rows in the place of the first. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class LargestOfRows(Planted):
    """Contributes the largest value of all rows in the place of the first: no sum of what rows contribute alone."""

    name: ClassVar[str] = "largest_of_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        values = products(rows)
        values[0] = values.max(axis=0)
        return values


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LargestOfRows]
