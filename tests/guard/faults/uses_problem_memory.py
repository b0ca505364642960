"""Asks the problem for the exact fit of rows that its own model remembers. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class UsesProblemMemory(Planted):
    """Asks the problem for the exact fit of rows that its own model remembers."""

    name: ClassVar[str] = "uses_problem_memory"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        return self.problem_of(curator).exact(curator)

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        self.ask(curator, budget)
        return problem.exact(curator)


@hookimpl
def dpbench_mechanisms() -> Any:
    return [UsesProblemMemory]
