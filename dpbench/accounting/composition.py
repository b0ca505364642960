"""The accountant: from the costs of a ledger to one (ε, δ).

Costs compose in their native currency where all agree; otherwise they are converted, and the smallest of the valid totals
is taken. Neighbours are replace-one throughout. Everything here is a closed form, or the root of one; for the tight number
that goes by the noise itself see :mod:`dpbench.accounting.privacy_loss`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.accounting.conversion import delta_of_gdp, epsilon_of_gdp, epsilon_of_zcdp, gdp_of_pure
from dpbench.accounting.costs import Approx, Cost, Gdp, Pure, Zcdp

__all__ = ["Guarantee", "compose", "delta_of_gdp", "epsilon_at", "epsilon_of_gdp", "epsilon_of_zcdp"]

ROUNDING = 1e-12
"""Relative slack for the rounding of sums such as δ/3 + δ/3 + δ/3."""


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-DP; ε is infinite where there is no guarantee."""

    epsilon: float
    delta: float

    @property
    def private(self) -> bool:
        return math.isfinite(self.epsilon)


def compose(costs: Sequence[Cost], delta: float) -> Guarantee:
    """The (ε, δ) of releasing everything; δ is 0 where all entries are pure, else the stated one."""
    if all(isinstance(cost, Pure) for cost in costs):
        return Guarantee(math.fsum(cost.epsilon for cost in costs if isinstance(cost, Pure)), 0.0)
    return Guarantee(epsilon_at(costs, delta), delta)


def epsilon_at(costs: Sequence[Cost], delta: float) -> float:
    """The smallest ε that is proven for all costs together at the stated δ; infinite where none is.

    An (ε, δ) answer can be simulated from an ε-DP one and a failure of probability δ (Kairouz, Oh, Viswanath 2015): its δ is
    paid at once, and its ε composes like a pure one.
    """
    if any(not isinstance(cost, (Pure, Zcdp, Gdp, Approx)) for cost in costs):
        return math.inf
    spent = math.fsum(cost.delta for cost in costs if isinstance(cost, Approx))
    if spent > delta * (1 + ROUNDING):
        return math.inf
    left = max(delta - spent, 0.0)
    pure = [cost.epsilon for cost in costs if isinstance(cost, (Pure, Approx))]
    rho = math.fsum(cost.rho for cost in costs if isinstance(cost, Zcdp))
    mu = math.sqrt(math.fsum(cost.mu**2 for cost in costs if isinstance(cost, Gdp)))
    basic = math.fsum(pure)
    totals = [basic] if not rho and not mu else []
    if left > ROUNDING * delta:
        if mu and not rho:
            totals.append(basic + epsilon_of_gdp(mu, left))
        if rho:
            totals.append(basic + epsilon_of_zcdp(rho + mu**2 / 2, left))
        if pure:
            # ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4); μ-GDP is μ²/2-zCDP
            totals.append(epsilon_of_zcdp(rho + mu**2 / 2 + math.fsum(value**2 for value in pure) / 2, left))
        if pure and not rho:
            normal = math.sqrt(mu**2 + math.fsum(gdp_of_pure(value) ** 2 for value in pure))
            totals.append(epsilon_of_gdp(normal, left) if math.isfinite(normal) else math.inf)
    return min(totals, default=math.inf)
