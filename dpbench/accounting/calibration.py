"""Calibration: the budget that makes a mechanism's accounted ε equal to the requested one."""

import math
from collections.abc import Callable
from dataclasses import replace

from dpbench.accounting.composition import Guarantee
from dpbench.accounting.conversion import gdp_of_epsilon
from dpbench.accounting.costs import Currency
from dpbench.base.errors import Refused

EQUAL_EPSILONS = 1e-12
"""Relative tolerance when comparing the accounted ε with the requested one."""
SEARCH_TOLERANCE = 1e-9
"""Relative tolerance of the ε that a search ends with. An accounted ε within it is recorded as the requested one."""
MAX_DOUBLINGS = 60
"""A search gives up after this many doublings or halvings of the budget."""

CONVERSIONS: dict[Currency, Callable[[float, float], float]] = {
    "pure": lambda epsilon, delta: epsilon,
    "approx": lambda epsilon, delta: epsilon,
    "zcdp": lambda epsilon, delta: gdp_of_epsilon(epsilon, delta) ** 2 / 2,
    "gdp": gdp_of_epsilon,
}
"""The worth of (ε, δ) in each currency; in ρ that of normal noise. Pure ε is accounted as (ε, 0), so it is worth itself."""


def recorded(total: Guarantee, requested: float) -> Guarantee:
    """Return a total as it is recorded: with the requested ε, if a calibration could not come nearer to it.

    The accounted ε of a calibrated budget is the root of a curve at the root of the same curve, and is off by the rounding of
    both: for ε = 1 and δ = 10⁻⁶ it is 1.0000000000000049. The requested ε is the better number. In arithmetic of 40 digits,
    calibrated noise is worth it to 2·10⁻¹² (ε from 10⁻³ to 300), where the accounted number is off by up to 10⁻¹¹.
    """
    return replace(total, epsilon=requested) if abs(total.epsilon / requested - 1) <= SEARCH_TOLERANCE else total


def calibrated(epsilon: float, delta: float, currency: Currency, accounted: Callable[[float], float]) -> float:
    """Return the budget whose accounted ε is the requested one; ``accounted`` maps a budget to its accounted ε.

    Usually the currency decides it by one conversion. A mechanism that spends its budget in another currency, or not all of
    it, needs a search. If the accounted ε is zero or infinite, the conversion is returned.
    """
    from scipy.optimize import brentq

    budget = CONVERSIONS[currency](epsilon, delta)
    first = accounted(budget)
    if not 0 < first < math.inf or abs(first / epsilon - 1) <= EQUAL_EPSILONS:
        return budget

    def excess(log_budget: float) -> float:
        return math.log(max(accounted(math.exp(log_budget)), 1e-300) / epsilon)

    low = high = math.log(budget)
    for _ in range(MAX_DOUBLINGS):
        if excess(low) <= 0 <= excess(high):
            root = math.exp(low if low == high else float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14)))
            if abs(accounted(root) / epsilon - 1) <= SEARCH_TOLERANCE:
                return root
            break
        low, high = (low - math.log(2), high) if excess(low) > 0 else (low, high + math.log(2))
    raise Refused(f"No budget was found whose accounted ε is {epsilon:g}: take budget=claimed.")
