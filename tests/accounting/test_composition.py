"""The accountant's curves are each other's inverses, rise and fall as they must, and agree with independent computations."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from dpbench.accounting.composition import compose
from dpbench.accounting.conversion import delta_of_gdp, epsilon_of_gdp, epsilon_of_zcdp
from dpbench.accounting.costs import Approx, Gdp, Nothing, Pure, Zcdp

DELTAS = (1e-12, 1e-9, 1e-6, 1e-3, 0.1)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", [0.01, 0.2367, 1.0, 3.0, 20.0, 1e3])
def test_epsilon_and_delta_of_gdp_are_inverses(mu, delta) -> None:  # type: ignore[no-untyped-def]
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
def test_delta_of_gdp_is_the_hockey_stick_of_two_normals(mu, epsilon) -> None:  # type: ignore[no-untyped-def]
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
def test_a_vanishing_noise_is_not_priced_at_nothing(mu) -> None:  # type: ignore[no-untyped-def]
    """For large μ, ε = μ²/2 + μ z with z the normal quantile of δ to within a little: sweeps that go to ε → ∞ meet such μ."""
    epsilon = epsilon_of_gdp(mu, 1e-6)
    assert epsilon == pytest.approx(mu * mu / 2 + mu * stats.norm.isf(1e-6), rel=1e-7)


@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_is_at_most_the_classic_conversion_and_at_least_what_a_gaussian_needs(delta) -> None:  # type: ignore[no-untyped-def]
    for rho in np.geomspace(1e-6, 1e6, 25):
        epsilon = epsilon_of_zcdp(rho, delta)
        assert epsilon <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) * (1 + 1e-12)
        assert epsilon >= epsilon_of_gdp(math.sqrt(2 * rho), delta) * (1 - 1e-9), "μ²/2-zCDP says less than μ-GDP"


@pytest.mark.parametrize(("rho", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (5.0, 1e-9), (0.01, 1e-3)])
def test_zcdp_is_the_best_order_of_the_conversion(rho, delta) -> None:  # type: ignore[no-untyped-def]
    """Canonne, Kamath, Steinke 2020, Proposition 12, over a fine grid of orders."""
    order = 1 + np.geomspace(1e-3, 1e4, 200_001)
    grid = rho * order + (np.log(1 / delta) + (order - 1) * np.log1p(-1 / order) - np.log(order)) / (order - 1)
    assert epsilon_of_zcdp(rho, delta) == pytest.approx(grid.min(), rel=1e-7)


def test_pure_costs_add_up_and_need_no_delta() -> None:
    total = compose([Pure(0.1)] * 10, 1e-6)
    assert total.epsilon == pytest.approx(1.0, rel=1e-15)
    assert total.delta == 0
    assert compose([], 1e-6).epsilon == 0


def test_gaussian_costs_add_up_in_squares() -> None:
    mus = (0.3, 0.4, 1.2)
    assert compose([Gdp(mu) for mu in mus], 1e-6).epsilon == pytest.approx(epsilon_of_gdp(1.3, 1e-6), rel=1e-12)
    rhos = (0.1, 0.2, 0.3)
    assert compose([Zcdp(rho) for rho in rhos], 1e-6).epsilon == pytest.approx(epsilon_of_zcdp(0.6, 1e-6), rel=1e-9)


def test_the_order_of_the_entries_does_not_matter() -> None:
    costs = [Pure(0.1), Gdp(0.3), Zcdp(0.02), Approx(0.2, 1e-8), Pure(1 / 3)]
    totals = {compose(list(order), 1e-6) for order in permutations(costs)}
    assert len({total.epsilon for total in totals}) == 1


def test_a_part_never_costs_more_than_the_whole() -> None:
    costs = [Pure(0.4), Gdp(0.3), Zcdp(0.02), Approx(0.2, 1e-8)]
    for kept in product([False, True], repeat=len(costs)):
        part = [cost for cost, keep in zip(costs, kept, strict=True) if keep]
        assert compose(part, 1e-6).epsilon <= compose(costs, 1e-6).epsilon * (1 + 1e-12)


def test_many_small_pure_releases_beside_a_gaussian_are_never_dearer_than_either_valid_total() -> None:
    """1,000 of ε = 0.01: Σ ε = 10, but Σ ε²/2 = 0.05 in zCDP, and the stated δ buys the difference."""
    costs = [*[Pure(0.01)] * 1000, Gdp(0.1)]
    total = compose(costs, 1e-6).epsilon
    assert total <= 10 + epsilon_of_gdp(0.1, 1e-6)
    assert total <= epsilon_of_zcdp(0.05 + 0.005, 1e-6) * (1 + 1e-12)


def test_what_delta_cannot_pay_for_is_not_private() -> None:
    assert compose([Approx(1.0, 2e-6)], 1e-6).epsilon == math.inf
    assert compose([Approx(1.0, 1e-6)], 1e-6).epsilon == 1.0
    assert compose([Approx(1.0, 1e-6), Gdp(0.1)], 1e-6).epsilon == math.inf


@pytest.mark.parametrize("others", [[], [Pure(1.0)], [Gdp(1.0), Zcdp(1.0)]])
def test_one_entry_without_a_guarantee_leaves_none(others) -> None:  # type: ignore[no-untyped-def]
    total = compose([*others, Nothing()], 1e-6)
    assert total.epsilon == math.inf
    assert not total.private


def test_pure_answers_with_a_normal_one_compose_as_normal_ones() -> None:
    """ε = 0.05 is μ = 2 Φ⁻¹(e^ε / (1 + e^ε)) at worst; ten of them and a μ of 1 add up in squares, and that curve is the best.

    The sum of pure ε beside the normal answer gives 5.295, zCDP gives 5.45.
    """
    costs = [Gdp(1.0), *[Pure(0.05)] * 10]
    worst = 2 * stats.norm.ppf(math.exp(0.05) / (1 + math.exp(0.05)))
    mu = math.sqrt(1 + 10 * worst**2)

    def excess(epsilon: float) -> float:
        return float(stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)) - 1e-6

    expected = optimize.brentq(excess, 1.0, 10.0, xtol=1e-12)
    assert expected == pytest.approx(4.995, abs=5e-4)
    for order in (costs, costs[::-1]):
        assert compose(order, 1e-6).epsilon == pytest.approx(expected, rel=1e-9)
