"""Subtracts the chunk's means from its rows, as a careful analyst would. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class CentresRows(Planted):
    """Subtracts the chunk's means from its rows, as a careful analyst would."""

    name: ClassVar[str] = "centres_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        x = rows.x - rows.x.mean(axis=0)
        j, k = np.triu_indices(x.shape[1])
        return np.concatenate([x[:, j] * x[:, k], x * (rows.y - rows.y.mean())[:, None]], axis=1)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CentresRows]
