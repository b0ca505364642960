"""Uses a quarter of the tight sensitivity of the functional mechanism. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace

from ._planted import Planted


@dataclass(frozen=True)
class QuarterSensitivity(Planted):
    """Uses a quarter of the tight sensitivity of the functional mechanism."""

    name: ClassVar[str] = "quarter_sensitivity"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = problem.polynomial()
        answer = curator.release(query, laplace(query.l1_bound("tight") / 4, budget.epsilon, query.proof("tight")))
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())


@hookimpl
def dpbench_mechanisms() -> Any:
    return [QuarterSensitivity]
