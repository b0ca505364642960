"""Contributes the ranks of targets among the rows of the chunk instead of the targets. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class RanksRows(Planted):
    """Contributes the ranks of targets among the rows of the chunk instead of the targets."""

    name: ClassVar[str] = "ranks_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        ranks = np.argsort(np.argsort(rows.y)) / max(len(rows.y) - 1, 1)
        return np.concatenate([products(rows)[:, : -rows.x.shape[1]], rows.x * ranks[:, None]], axis=1)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RanksRows]
