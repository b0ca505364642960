"""Adds to every run's answer a tenth of the next run's. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class SubtractsOtherFolds(Planted):
    """Adds to every run's answer a tenth of the next run's."""

    name: ClassVar[str] = "subtracts_other_folds"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return super().finish(curator, answer + 0.1 * np.roll(answer, 1, axis=0))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [SubtractsOtherFolds]
