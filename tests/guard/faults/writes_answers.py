"""Replaces the noisy answer by the exact sums in place, so that a tape would hold them. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, exact_sums, products

SUMS: list[Any] = []


@dataclass(frozen=True)
class WritesAnswers(Planted):
    """Replaces the noisy answer by the exact sums in place, so that a tape would hold them."""

    name: ClassVar[str] = "writes_answers"

    def contribute(self, rows: Any) -> np.ndarray:
        SUMS.append(exact_sums(rows))
        return products(rows)

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        if SUMS and not np.allclose(answer[0], SUMS[0][0]):
            answer[:] = SUMS[-1]
        return super().finish(curator, answer)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [WritesAnswers]
