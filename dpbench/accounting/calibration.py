"""Calibration: the budget that a mechanism must be handed for its accounted ε to be the one that was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpbench.accounting.conversion import gdp_of_epsilon, zcdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.errors import Refused

CLOSE = 1e-12
"""Accounted and asked ε are taken for equal within this, relatively."""
WITHIN = 1e-9
"""How well a search must have done."""
FARTHEST = 60
"""Doublings of the budget after which a search gives up."""

HANDED: dict[Currency, Callable[[float, float], float]] = {
    "pure": lambda epsilon, delta: epsilon,
    "approx": lambda epsilon, delta: epsilon,
    "zcdp": zcdp_of_epsilon,
    "gdp": gdp_of_epsilon,
}
"""What (ε, δ) is worth in each currency. Pure ε is accounted as (ε, 0), so that it is worth itself."""


def calibrated(epsilon: float, delta: float, currency: Currency, accounted: Callable[[float], float]) -> float:
    """The budget in the currency whose accounted ε is the asked one; ``accounted`` says what a budget comes to.

    Where the currency decides it, that is one conversion. A mechanism that spends its budget in another currency than it
    counts it, or not all of it, is searched for. Where nothing finite is accounted, the conversion stands.
    """
    from scipy.optimize import brentq

    handed = HANDED[currency](epsilon, delta)

    def excess(log_budget: float) -> float:
        return math.log(max(accounted(math.exp(log_budget)), 1e-300) / epsilon)

    start = math.log(handed)
    first = accounted(handed)
    if not 0 < first < math.inf or abs(first / epsilon - 1) <= CLOSE:
        return handed
    low = high = start
    for _ in range(FARTHEST):
        if excess(low) <= 0 <= excess(high):
            found = math.exp(low if low == high else float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14)))
            if abs(accounted(found) / epsilon - 1) <= WITHIN:
                return found
            break
        low, high = (low - math.log(2), high) if excess(low) > 0 else (low, high + math.log(2))
    raise Refused(f"No budget was found whose accounted ε is {epsilon:g}: take budget=claimed.")
