"""Contributes NaN, which no comparison with a bound would catch. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted, products


@dataclass(frozen=True)
class NanAnswers(Planted):
    """Contributes NaN, which no comparison with a bound would catch."""

    name: ClassVar[str] = "nan_answers"

    def contribute(self, rows: Any) -> np.ndarray:
        values = 1e6 * products(rows)
        values[:, 0] = np.nan
        return values

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, np.nan_to_num(answer / 1e6))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [NanAnswers]
