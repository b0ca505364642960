"""Keeps the exact sums while it contributes them, and fits those. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, exact_sums, products

SUMS: list[Any] = []


@dataclass(frozen=True)
class RemembersRows(Planted):
    """Keeps the exact sums while it contributes them, and fits those."""

    name: ClassVar[str] = "remembers_rows"

    def contribute(self, rows: Any) -> np.ndarray:
        SUMS.append(exact_sums(rows))
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, 0 * answer + SUMS[-1])


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RemembersRows]
