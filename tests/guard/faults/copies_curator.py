"""Copies the curator with its own ledger and asks the copy. Expected: caught."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class CopiesCurator(Planted):
    """Copies the curator with its own ledger and asks the copy."""

    name: ClassVar[str] = "copies_curator"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        answers = []
        for _ in range(20):
            other = copy.deepcopy(curator)
            answers.append(self.ask(other, budget))
        return self.finish(curator, self.ask(curator, budget) * 0 + np.mean(answers, axis=0))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CopiesCurator]
