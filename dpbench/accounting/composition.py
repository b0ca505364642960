"""The accountant: from the costs of a ledger to their total in one currency, or to one (ε, δ).

Costs compose in their own currency if all agree. Otherwise they are converted, and the smallest of the valid totals counts.
Neighbours are replace-one throughout. Everything here is a closed form, or the root of one; the tight number, from the noise
itself, is in :mod:`dpbench.accounting.privacy_loss`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpbench.accounting.conversion import epsilon_of_gdp, epsilon_of_zcdp, gdp_of_pure
from dpbench.accounting.costs import Approx, Cost, Currency, Gdp, Pure, Zcdp

ROUNDING = 1e-12
"""Relative slack for the rounding of sums such as δ/3 + δ/3 + δ/3."""


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-DP; ε is infinite if there is no guarantee."""

    epsilon: float
    delta: float

    @property
    def private(self) -> bool:
        """Whether anything is guaranteed."""
        return math.isfinite(self.epsilon)


def compose(costs: Sequence[Cost], delta: float) -> Guarantee:
    """Return the (ε, δ) of releasing everything; δ is 0 if all costs are pure, otherwise the stated one."""
    pure = total_pure(costs)
    return Guarantee(pure, 0.0) if pure < math.inf else Guarantee(epsilon_at(costs, delta), delta)


def total_pure(costs: Sequence[Cost]) -> float:
    """Return ε of all costs together: the sum; infinite if a cost is not pure."""
    return math.fsum(cost.epsilon if isinstance(cost, Pure) else math.inf for cost in costs)


def total_zcdp(costs: Sequence[Cost]) -> float:
    """Return ρ of all costs together: the sum; infinite if a cost is worth no ρ.

    ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4), and μ-GDP is μ²/2-zCDP.
    """
    pure = [cost.epsilon for cost in costs if isinstance(cost, Pure)]
    rest = [cost for cost in costs if not isinstance(cost, (Pure, Zcdp))]
    rho = math.fsum(cost.rho for cost in costs if isinstance(cost, Zcdp))
    return rho + total_gdp(rest) ** 2 / 2 + math.fsum(epsilon**2 for epsilon in pure) / 2


def total_gdp(costs: Sequence[Cost]) -> float:
    """Return μ of all costs together: the root of the sum of squares; infinite if a cost is not in μ."""
    return math.sqrt(math.fsum(cost.mu**2 if isinstance(cost, Gdp) else math.inf for cost in costs))


def epsilon_at(costs: Sequence[Cost], delta: float) -> float:
    """Return the smallest ε that is proven for all costs together at the stated δ; infinite if none is.

    An (ε, δ) answer can be simulated from an ε-DP one and a failure of probability δ (Kairouz, Oh, Viswanath 2015): its δ is
    paid at once, and its ε composes like a pure one.
    """
    failures = math.fsum(cost.delta for cost in costs if isinstance(cost, Approx))
    if failures > delta * (1 + ROUNDING):
        return math.inf
    left = max(delta - failures, 0.0)
    pure = [Pure(cost.epsilon) for cost in costs if isinstance(cost, (Pure, Approx))]
    others = [cost for cost in costs if not isinstance(cost, (Pure, Approx))]
    # either the pure costs are added to the rest, or everything is composed as if it were zCDP or GDP
    if left <= ROUNDING * delta:
        return math.inf if others else total_pure(pure)
    return min(total_pure(pure) + _epsilon(others, left), _epsilon([*pure, *others], left))


def _epsilon(costs: Sequence[Cost], delta: float) -> float:
    """Return ε at δ of costs that are all converted to zCDP, or all to GDP, whichever is smaller."""
    normal = [Gdp(gdp_of_pure(cost.epsilon)) if isinstance(cost, Pure) else cost for cost in costs]
    return min(epsilon_of_zcdp(total_zcdp(costs), delta), epsilon_of_gdp(total_gdp(normal), delta))


TOTALS: dict[Currency, Callable[[Sequence[Cost], float], float]] = {
    "pure": lambda costs, delta: total_pure(costs),
    "zcdp": lambda costs, delta: total_zcdp(costs),
    "gdp": lambda costs, delta: total_gdp(costs),
    "approx": lambda costs, delta: compose(costs, delta).epsilon,
}
"""The total of costs at a stated δ in each currency; infinite if they cannot be counted in it."""
