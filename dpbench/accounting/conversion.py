"""Conversions between the currencies of privacy: curves ε(δ) and their inverses, each the best one that is proven."""

import math
from collections.abc import Callable

MAX_DOUBLINGS = 200
"""Bracketing a root gives up after this many doublings or halvings."""


def delta_of_gdp(mu: float, epsilon: float) -> float:
    """Return δ(ε) of μ-GDP (Dong, Roth, Su 2022, Corollary 1; Balle and Wang 2018, Theorem 8)."""
    from scipy.special import log_ndtr

    first = float(log_ndtr(-epsilon / mu + mu / 2))
    second = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    # in logarithms, because e^ε overflows and the two terms nearly cancel
    return max(math.exp(first) * -math.expm1(min(second - first, 0.0)), 0.0)


def epsilon_of_gdp(mu: float, delta: float) -> float:
    """Return the smallest ε at which μ-GDP is (ε, δ)-DP: exact, and infinite for an infinite μ."""
    if mu == math.inf:
        return math.inf
    if mu == 0 or delta_of_gdp(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of_gdp(mu, high) > delta:
        high *= 2
    return _root(lambda epsilon: delta_of_gdp(mu, epsilon) - delta, 0.0, high)


def gdp_of_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest μ whose μ-GDP is (ε, δ)-DP: the inverse of :func:`epsilon_of_gdp`."""
    low = high = 1.0
    for _ in range(MAX_DOUBLINGS):
        if delta_of_gdp(low, epsilon) <= delta <= delta_of_gdp(high, epsilon):
            break
        low, high = (low / 2, high) if delta_of_gdp(low, epsilon) > delta else (low, high * 2)
    return low if low == high else _root(lambda mu: delta_of_gdp(mu, epsilon) - delta, low, high)


def gdp_of_pure(epsilon: float) -> float:
    """Return the smallest μ such that every ε-DP answer is μ-GDP: the normal curve through the kink of its trade-off function.

    It lies below that function everywhere, because it is convex and agrees with it at (0, 1), the kink and (1, 0).
    """
    from scipy.special import ndtri

    # μ = 2 Φ⁻¹(1 / (1 + e^-ε)) = -2 Φ⁻¹(1 / (1 + e^ε)), and e^ε overflows above ε = 700
    return float(-2 * ndtri(1 / (1 + math.exp(epsilon)))) if epsilon < 700 else math.inf


def pure_of_gdp(mu: float) -> float:
    """Return the largest ε such that every ε-DP answer is μ-GDP: the inverse of :func:`gdp_of_pure`."""
    from scipy.special import log_ndtr

    return float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """Return the smallest ε that Rényi orders prove for ρ-zCDP.

    Canonne, Kamath, Steinke 2020, Proposition 12 with ε(α) = ρα; infinite for an infinite ρ.
    """
    from scipy.optimize import minimize_scalar

    if rho in (0, math.inf):
        return rho

    def epsilon(log_excess: float) -> float:
        excess = math.exp(log_excess)  # α - 1
        order = 1 + excess
        return rho * order - math.log1p(1 / excess) + (math.log(1 / delta) - math.log(order)) / excess

    best = minimize_scalar(epsilon, bounds=(-14.0, 14.0), method="bounded", options={"xatol": 1e-12})
    return max(min(float(best.fun), rho + 2 * math.sqrt(rho * math.log(1 / delta))), 0.0)


def zcdp_of_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest ρ whose ρ-zCDP is proven to be (ε, δ)-DP: the inverse of :func:`epsilon_of_zcdp`."""
    high = gdp_of_epsilon(epsilon, delta) ** 2 / 2  # normal noise of this ρ is (ε, δ)-DP, which zCDP alone does not prove
    low = high
    for _ in range(MAX_DOUBLINGS):
        if epsilon_of_zcdp(low, delta) <= epsilon:
            break
        low /= 2
    return low if low == high else _root(lambda rho: epsilon_of_zcdp(rho, delta) - epsilon, low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=1e-300 if low > 0 else 1e-13, rtol=1e-14, maxiter=500))
