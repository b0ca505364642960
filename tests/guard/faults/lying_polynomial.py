"""A subclass of the objective that claims a hundredth of its sensitivity. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpbench import Fit, hookimpl
from dpbench.privacy.noise import laplace
from dpbench.privacy.queries.polynomial import Polynomial

from ._planted import Planted


class Modest(Polynomial):
    """The objective with a small bound."""

    def l1_bound(self, *arguments: Any, **more: Any) -> float:
        return super().l1_bound(*arguments, **more) / 100


@dataclass(frozen=True)
class LyingPolynomial(Planted):
    """A subclass of the objective that claims a hundredth of its sensitivity."""

    name: ClassVar[str] = "lying_polynomial"

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        query = Modest(problem.loss, problem.geometry)
        answer = curator.release(query, laplace(query.l1_bound("tight"), budget.epsilon, query.proof("tight")))
        return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())


@hookimpl
def dpbench_mechanisms() -> Any:
    return [LyingPolynomial]
