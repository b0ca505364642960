"""The exact minimiser of the truncated objective: a baseline without noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.queries.query import exact_answer

NO_INTERVALS = "it has no noise, and how far truncating the loss moves the minimum is not known"
"""Why there are no intervals."""


@dataclass(frozen=True)
class Truncated(Mechanism):
    """Truncate the loss at order 2 and minimise it exactly: the error of the truncation, before any noise.

    Formula: for logistic regression the minimiser of sum of (½ - y) x'w + (x'w)²/8 is 4 (X'X)⁻¹ X'(y - ½), four times least
    squares on y - ½, so it predicts the same classes as linear regression.

    Guarantee: none. It is the limit of ``fm`` as ε grows, like ``no_privacy`` for models whose loss is a polynomial.

    Public: nothing is protected.

    Cost: one D × D system per run, from sums that all mechanisms share.

    Reference: Zhang et al. 2012, PVLDB 5(11), section 5.2 ("Truncated" in their figures).

    Errata: the paper bounds the truncation error by 0.015 per row. Both tails count, so the bound is 0.030, and it holds only
    while |x'w| <= 1, which nothing enforces.
    """

    name: ClassVar[str] = "truncated"
    handles_persons: ClassVar[bool] = True
    moments_alone: ClassVar[bool] = True
    guarantee: ClassVar[str] = "none"
    depends_on_budget: ClassVar[bool] = False
    needs: ClassVar[frozenset[Capability]] = frozenset({"polynomial"})
    expected_failures: ClassVar[Mapping[str, str]] = {
        "ledger within budget": "the control releases the exact fit of the truncated loss",
    }

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        return None if "truncation" in model.provides else "its loss is a polynomial already, and no_privacy minimises it"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        objective = problem.polynomial()

        def minimiser(sample: Sample) -> Fit:
            exact = objective.quadratic(exact_answer(objective, sample), sample.n)
            return Fit.good(problem.minimise(problem.regularised(exact))).knowing(NO_INTERVALS)

        return curator.reveal("truncated fit", minimiser, "the baseline releases the exact minimiser of the truncated objective")


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [Truncated]
