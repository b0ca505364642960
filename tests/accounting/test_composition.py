"""The totals of costs obey the laws of composition, and the smallest valid total counts."""

from __future__ import annotations

import math
from itertools import pairwise, permutations, product

import pytest
from scipy import optimize, stats

from dpbench.accounting.composition import compose, epsilon_at
from dpbench.accounting.conversion import (
    epsilon_of_gdp,
    epsilon_of_zcdp,
)
from dpbench.accounting.costs import Approx, Cost, Gdp, Nothing, Pure, Zcdp


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


SOME: tuple[Cost, ...] = (Pure(0.4), Pure(0.05), Gdp(0.3), Zcdp(0.02), Approx(0.2, 1e-8), Approx(0.01, 1e-7))
LARGER: tuple[Cost, ...] = (Pure(0.41), Pure(0.06), Gdp(0.31), Zcdp(0.021), Approx(0.21, 1e-8), Approx(0.01, 2e-7))


def parts(costs: tuple[Cost, ...]) -> list[list[Cost]]:
    return [[cost for cost, keep in zip(costs, kept, strict=True) if keep] for kept in product([False, True], repeat=len(costs))]


def test_the_order_does_not_matter() -> None:
    for part in parts(SOME):
        assert len({epsilon_at(list(order), 1e-6) for order in permutations(part)}) == 1


@pytest.mark.parametrize("delta", [2e-7, 1e-6, 1e-3])
def test_adding_never_lowers(delta: float) -> None:
    """At one δ. (Pure entries alone are stated at δ = 0, where nothing but their sum is known.)"""
    for part, cost in product(parts(SOME), SOME):
        assert epsilon_at([*part, cost], delta) >= epsilon_at(part, delta) * (1 - 1e-12)


def test_more_delta_never_costs_more_epsilon() -> None:
    deltas = [1e-9, 1.1e-7, 2e-7, 1e-6, 1e-3, 0.1]
    for part in parts(SOME):
        totals = [epsilon_at(part, delta) for delta in deltas]
        assert all(now <= before * (1 + 1e-12) for before, now in pairwise(totals))


def test_a_larger_cost_is_never_cheaper() -> None:
    for index, part in product(range(len(SOME)), parts(SOME)):
        grown = [LARGER[index] if cost is SOME[index] else cost for cost in part]
        assert epsilon_at(grown, 1e-6) >= epsilon_at(part, 1e-6) * (1 - 1e-12)


def test_delta_in_parts_is_all_of_it() -> None:
    """Three thirds of δ are not more than δ, whatever floating-point numbers say; a fourth is."""
    third = [Approx(0.1, 1e-6 / 3)] * 3
    assert compose(third, 1e-6).epsilon == pytest.approx(0.3)
    assert compose([*third, Approx(0.1, 1e-6 / 3)], 1e-6).epsilon == math.inf
    assert compose([*third, Gdp(0.1)], 1e-6).epsilon == math.inf, "nothing is left for it"


def test_the_delta_of_a_release_is_paid_once_and_its_epsilon_composes_like_a_pure_one() -> None:
    """1,000 releases of (0.01, 1e-10) are 1,000 of ε = 0.01 at what is left of δ: far below their sum, 10."""
    left = 1e-6 - 1_000 * 1e-10
    total = compose([Approx(0.01, 1e-10)] * 1_000, 1e-6)
    assert total.epsilon == epsilon_at([Pure(0.01)] * 1_000, left)
    assert total.epsilon < 2


def test_the_order_of_the_entries_does_not_matter() -> None:
    costs = [Pure(0.1), Gdp(0.3), Zcdp(0.02), Approx(0.2, 1e-8), Pure(1 / 3)]
    totals = {compose(list(order), 1e-6) for order in permutations(costs)}
    assert len({total.epsilon for total in totals}) == 1


def test_a_part_never_costs_more_than_the_whole() -> None:
    costs = [Pure(0.4), Gdp(0.3), Zcdp(0.02), Approx(0.2, 1e-8)]
    for kept in product([False, True], repeat=len(costs)):
        part = [cost for cost, keep in zip(costs, kept, strict=True) if keep]
        assert compose(part, 1e-6).epsilon <= compose(costs, 1e-6).epsilon * (1 + 1e-12)


def test_many_small_pure_releases_next_to_a_gaussian_never_cost_more_than_either_valid_total() -> None:
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
def test_one_entry_without_a_guarantee_leaves_none(others) -> None:
    total = compose([*others, Nothing()], 1e-6)
    assert total.epsilon == math.inf
    assert not total.private


def test_pure_answers_with_a_normal_one_compose_as_normal_ones() -> None:
    """ε = 0.05 is μ = 2 Φ⁻¹(e^ε / (1 + e^ε)) at worst; ten of them and a μ of 1 add up in squares, and that curve is the best.

    The sum of pure ε next to the normal answer gives 5.295, zCDP gives 5.45.
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


@pytest.mark.parametrize("share", [1 - 1e-6, 1 - 1e-10])
def test_delta_may_be_spent_up_to_rounding_and_no_further(share: float) -> None:
    """What (ε, δ) answers leave of δ pays for normal noise while it is more than rounding; they may not exceed δ themselves."""
    almost = [Approx(0.1, share * 1e-6), Gdp(0.1)]
    assert compose(almost, 1e-6).epsilon == pytest.approx(0.1 + epsilon_of_gdp(0.1, (1 - share) * 1e-6), rel=1e-3)
    assert compose([Approx(0.1, 1e-6 * (1 - 1e-14)), Gdp(0.1)], 1e-6).epsilon == math.inf, "rounding pays for nothing"
    assert compose([Approx(0.1, 1e-6 * (1 + 1e-6))], 1e-6).epsilon == math.inf
