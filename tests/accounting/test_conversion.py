"""Conversions agree with dp-accounting and with independent computations, and are each other's inverses."""

from __future__ import annotations

import importlib.util
import math
from itertools import product

import numpy as np
import pytest
from scipy import integrate, stats

from dpbench.accounting.conversion import (
    delta_of_gdp,
    epsilon_of_gdp,
    epsilon_of_zcdp,
    gdp_of_epsilon,
    gdp_of_pure,
    pure_of_gdp,
    zcdp_of_epsilon,
)

DELTAS = (1e-12, 1e-9, 1e-6, 1e-3, 0.1)
GRID_DELTAS = tuple(np.geomspace(1e-12, 1e-2, 10))
MUS = tuple(np.geomspace(0.02, 20, 10))
RHOS = tuple(np.geomspace(1e-4, 50, 10))

oracle = pytest.mark.skipif(
    importlib.util.find_spec("dp_accounting") is None,
    reason="dp-accounting is not installed: pip install 'dp-regression-bench[accounting]' (dp-accounting)",
)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", [0.01, 0.2367, 1.0, 3.0, 20.0, 1e3])
def test_epsilon_and_delta_of_gdp_are_inverses(mu, delta) -> None:
    epsilon = epsilon_of_gdp(mu, delta)
    if epsilon > 0:
        assert delta_of_gdp(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    else:
        assert delta_of_gdp(mu, 0.0) <= delta


def test_known_values_of_gdp() -> None:
    """(1, 1e-6) is μ = 0.2367; at ε = 0 δ is the total variation 2Φ(μ/2) - 1."""
    assert epsilon_of_gdp(0.2367, 1e-6) == pytest.approx(1.0, abs=1e-3)
    assert delta_of_gdp(1.0, 0.0) == pytest.approx(2 * stats.norm.cdf(0.5) - 1, rel=1e-12)
    assert epsilon_of_gdp(0.0, 1e-6) == 0.0


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.5), (1.0, 1.0), (2.0, 5.0)])
def test_delta_of_gdp_is_the_hockey_stick_of_two_normals(mu, epsilon) -> None:
    start = epsilon / mu + mu / 2  # where the density of N(μ, 1) exceeds e^ε times that of N(0, 1)
    value, _ = integrate.quad(lambda x: stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), start, start + 40)
    assert delta_of_gdp(mu, epsilon) == pytest.approx(value, rel=1e-6)


def test_more_noise_never_costs_more() -> None:
    mus, rhos = np.geomspace(0.01, 100, 40), np.geomspace(1e-6, 1e4, 40)
    for delta in DELTAS:
        assert (np.diff([epsilon_of_gdp(mu, delta) for mu in mus]) >= 0).all()
        assert (np.diff([epsilon_of_zcdp(rho, delta) for rho in rhos]) >= 0).all()
    for mu, rho in zip(mus[::8], rhos[::8], strict=True):
        assert (np.diff([epsilon_of_gdp(mu, delta) for delta in DELTAS]) <= 0).all()
        assert (np.diff([epsilon_of_zcdp(rho, delta) for delta in DELTAS]) <= 0).all()


@pytest.mark.parametrize("mu", [1e4, 1e6, 1e8, 1e12])
def test_a_vanishing_noise_is_not_priced_at_nothing(mu) -> None:
    """For large μ, ε = μ²/2 + μ z with z the normal quantile of δ to within a little: sweeps that go to ε → ∞ meet such μ."""
    epsilon = epsilon_of_gdp(mu, 1e-6)
    assert epsilon == pytest.approx(mu * mu / 2 + mu * stats.norm.isf(1e-6), rel=1e-7)


@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_is_at_most_the_classic_conversion_and_at_least_what_a_gaussian_needs(delta) -> None:
    for rho in np.geomspace(1e-6, 1e6, 25):
        epsilon = epsilon_of_zcdp(rho, delta)
        assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) * (1 + 1e-12)
        assert epsilon >= epsilon_of_gdp(math.sqrt(2 * rho), delta) * (1 - 1e-9), "μ²/2-zCDP says less than μ-GDP"


@pytest.mark.parametrize(("rho", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9), (0.01, 1e-3)])
def test_zcdp_is_the_best_order_of_the_conversion(rho, delta) -> None:
    """Canonne, Kamath, Steinke 2020, Proposition 12, over a fine grid of orders."""
    order = 1 + np.geomspace(1e-3, 1e4, 200_001)
    grid = rho * order + (np.log(1 / delta) + (order - 1) * np.log1p(-1 / order) - np.log(order)) / (order - 1)
    assert epsilon_of_zcdp(rho, delta) == pytest.approx(grid.min(), rel=1e-7)


def test_what_is_accounted_is_calibrated_to_what_was_spent() -> None:
    for mu, delta in product(np.geomspace(0.01, 50, 12), (1e-9, 1e-6, 1e-4)):
        if epsilon_of_gdp(mu, delta) > 0:
            assert gdp_of_epsilon(epsilon_of_gdp(mu, delta), delta) == pytest.approx(mu, rel=1e-9)
            assert zcdp_of_epsilon(epsilon_of_zcdp(mu, delta), delta) == pytest.approx(mu, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 30.0])
def test_the_normal_curve_of_a_pure_answer_lies_below_its_trade_off(epsilon: float) -> None:
    """δ(ε') of randomised response, the worst of ε-DP, against that of the normal shift: everywhere less, equal at ε' = 0."""
    mu = gdp_of_pure(epsilon)
    for other in np.linspace(0, epsilon, 40):
        randomised = max((math.exp(epsilon) - math.exp(other)) / (1 + math.exp(epsilon)), 0.0)
        assert randomised <= delta_of_gdp(mu, other) * (1 + 1e-9) + 1e-15
    assert delta_of_gdp(mu, 0.0) == pytest.approx(math.expm1(epsilon) / (1 + math.exp(epsilon)), rel=1e-9)


# -- 200 pairs against dp-accounting ---------------------------------------------------------------------------------------


@oracle
@pytest.mark.parametrize("mu", MUS)
def test_epsilon_of_gdp_is_dp_accounting_s(mu: float) -> None:
    """Both solve the same equation for ε: 100 pairs, to 1e-10."""
    from dp_accounting import get_epsilon_gaussian

    for delta in GRID_DELTAS:
        assert epsilon_of_gdp(mu, delta) == pytest.approx(get_epsilon_gaussian(1 / mu, delta), rel=1e-10, abs=1e-12)


@oracle
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_of_zcdp_is_dp_accounting_s_at_the_best_of_its_orders(rho: float) -> None:
    """100 pairs. Its orders are a grid, so it may be above ours, by as much as the grid is coarse, and never below."""
    from dp_accounting import ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant((1 + np.geomspace(1e-3, 1e6, 4_000)).tolist())
    accountant.compose(ZCDpEvent(rho))
    for delta in GRID_DELTAS:
        theirs = accountant.get_epsilon(delta)
        assert theirs * (1 - 1e-4) <= epsilon_of_zcdp(rho, delta) <= theirs * (1 + 1e-12)


def test_the_normal_curve_of_a_pure_answer_is_finite_until_the_exponential_overflows() -> None:
    """For large ε, μ² / 8 is about ε: the tail of a normal law at μ / 2 is e^-ε."""
    for epsilon in (50.0, 600.0):
        assert stats.norm.logsf(gdp_of_pure(epsilon) / 2) == pytest.approx(-epsilon, rel=1e-9)
    assert gdp_of_pure(701.0) == math.inf
    assert epsilon_of_gdp(math.inf, 1e-6) == epsilon_of_zcdp(math.inf, 1e-6) == math.inf


@pytest.mark.parametrize("mu", [1e-3, 0.045, 0.2, 1.0, 5.0])
def test_the_pure_epsilon_of_a_mu_is_the_inverse(mu: float) -> None:
    assert gdp_of_pure(pure_of_gdp(mu)) == pytest.approx(mu, rel=1e-9)
