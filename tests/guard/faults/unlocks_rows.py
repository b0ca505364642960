"""Makes the rows writable again before it writes into them. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl

from ._planted import Planted, products

ALONE = True


@dataclass(frozen=True)
class UnlocksRows(Planted):
    """Makes the rows writable again before it writes into them."""

    name: ClassVar[str] = "unlocks_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        values = rows.z
        while values is not None:
            values.flags.writeable = True
            values, owner = values.base, values
        owner[:, -1] = 0.0
        return products(rows)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [UnlocksRows]
