"""The accountant: from the costs of a ledger to one (ε, δ).

Costs compose in their native currency where all agree; otherwise they are converted, and the smallest of the valid totals
is taken. Neighbours are replace-one throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.privacy.cost import Approx, Cost, Gdp, Pure, Zcdp


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
    if any(not isinstance(cost, (Pure, Zcdp, Gdp, Approx)) for cost in costs):
        return Guarantee(math.inf, delta)
    pure = [cost.epsilon for cost in costs if isinstance(cost, Pure)]
    rho = [cost.rho for cost in costs if isinstance(cost, Zcdp)]
    mu = [cost.mu for cost in costs if isinstance(cost, Gdp)]
    approx = [cost for cost in costs if isinstance(cost, Approx)]
    if not rho and not mu and not approx:
        return Guarantee(math.fsum(pure), 0.0)
    left = delta - math.fsum(cost.delta for cost in approx)
    basic = math.fsum(cost.epsilon for cost in approx)
    if left < 0 or (left == 0 and (rho or mu)):
        return Guarantee(math.inf, delta)
    options = []
    gaussian = math.sqrt(math.fsum(value * value for value in mu))
    concentrated = math.fsum(rho)
    if not rho:
        options.append(math.fsum(pure) + (epsilon_of_gdp(gaussian, left) if mu else 0.0))
    else:
        options.append(math.fsum(pure) + epsilon_of_zcdp(concentrated + gaussian**2 / 2, left))
    if pure and left > 0:
        # ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4); μ-GDP is μ²/2-zCDP
        together = concentrated + gaussian**2 / 2 + math.fsum(value * value for value in pure) / 2
        options.append(epsilon_of_zcdp(together, left))
    return Guarantee(basic + min(options), delta)


def delta_of_gdp(mu: float, epsilon: float) -> float:
    """δ(ε) of μ-GDP (Dong, Roth, Su 2022, Corollary 1; Balle and Wang 2018, Theorem 8)."""
    from scipy.special import log_ndtr

    first = float(log_ndtr(-epsilon / mu + mu / 2))
    second = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    return max(math.exp(first) * -math.expm1(min(second - first, 0.0)), 0.0)


def epsilon_of_gdp(mu: float, delta: float) -> float:
    """The smallest ε at which μ-GDP is (ε, δ)-DP."""
    from scipy.optimize import brentq

    if mu == 0 or delta_of_gdp(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of_gdp(mu, high) > delta:
        high *= 2
    return float(brentq(lambda epsilon: delta_of_gdp(mu, epsilon) - delta, 0.0, high, xtol=1e-13, rtol=1e-14))


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """The smallest ε that Rényi orders give for ρ-zCDP (Canonne, Kamath, Steinke 2020, Proposition 12 with ε(α) = ρα)."""
    from scipy.optimize import minimize_scalar

    if rho == 0:
        return 0.0

    def epsilon(log_order: float) -> float:
        more = math.exp(log_order)  # α - 1
        order = 1 + more
        return rho * order + (math.log(1 / delta) + more * math.log(more) - order * math.log(order)) / more

    found = minimize_scalar(epsilon, bounds=(-14.0, 14.0), method="bounded", options={"xatol": 1e-12})
    return max(min(float(found.fun), rho + 2 * math.sqrt(rho * math.log(1 / delta))), 0.0)
