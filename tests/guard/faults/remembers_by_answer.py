"""Remembers the exact sums by the noisy answers that belong to them, which fools a replay in one process. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, exact_sums, products

SUMS: list[Any] = []
MEMORY: dict[bytes, Any] = {}


@dataclass(frozen=True)
class RemembersByAnswer(Planted):
    """Remembers the exact sums by the noisy answers that belong to them: a replay in the same process would see nothing."""

    name: ClassVar[str] = "remembers_by_answer"

    def contribute(self, rows: Any) -> np.ndarray:
        SUMS.append(exact_sums(rows))
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        sums = [MEMORY.setdefault(run.tobytes(), SUMS[-1] if SUMS else 0 * run[None]) for run in answer]
        return super().finish(curator, np.concatenate(sums))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [RemembersByAnswer]
