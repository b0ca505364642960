"""Conversions agree with dp-accounting and are undone by calibration; totals obey the laws of composition, tight ones too."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest

from dpbench.accounting import privacy_loss
from dpbench.accounting.calibration import CONVERSIONS, calibrated
from dpbench.accounting.composition import Guarantee, compose, epsilon_at
from dpbench.accounting.conversion import (
    delta_of_gdp,
    epsilon_of_gdp,
    epsilon_of_zcdp,
    gdp_of_epsilon,
    gdp_of_pure,
    zcdp_of_epsilon,
)
from dpbench.accounting.costs import Approx, Cost, Gdp, Nothing, Pure, Zcdp
from dpbench.accounting.selection_price import price_selection, private_selection
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget, Ledger, LedgerEntry
from dpbench.privacy.noise import Noise, concentrated, gaussian, geometric, laplace

DELTAS = tuple(np.geomspace(1e-12, 1e-2, 10))
MUS = tuple(np.geomspace(0.02, 20, 10))
RHOS = tuple(np.geomspace(1e-4, 50, 10))

oracle = pytest.mark.skipif(
    importlib.util.find_spec("dp_accounting") is None,
    reason="dp-accounting is not installed: pip install 'dp-regression-bench[accounting]' (dp-accounting)",
)

BACK: dict[str, Callable[[float, float], float]] = {
    "pure": lambda epsilon, delta: compose([Pure(epsilon)], delta).epsilon,
    "approx": lambda epsilon, delta: compose([Approx(epsilon, delta)], delta).epsilon,
    "zcdp": lambda rho, delta: compose([Zcdp(rho)], delta).epsilon,
    "gdp": lambda mu, delta: compose([Gdp(mu)], delta).epsilon,
}


# -- 200 pairs against dp-accounting ---------------------------------------------------------------------------------------


@oracle
@pytest.mark.parametrize("mu", MUS)
def test_epsilon_of_gdp_is_dp_accounting_s(mu: float) -> None:
    """Both solve the same equation for ε: 100 pairs, to 1e-10."""
    from dp_accounting import get_epsilon_gaussian

    for delta in DELTAS:
        assert epsilon_of_gdp(mu, delta) == pytest.approx(get_epsilon_gaussian(1 / mu, delta), rel=1e-10, abs=1e-12)


@oracle
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_of_zcdp_is_dp_accounting_s_at_the_best_of_its_orders(rho: float) -> None:
    """100 pairs. Its orders are a grid, so it may be above ours, by as much as the grid is coarse, and never below."""
    from dp_accounting import ZCDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant((1 + np.geomspace(1e-3, 1e6, 4_000)).tolist())
    accountant.compose(ZCDpEvent(rho))
    for delta in DELTAS:
        theirs = accountant.get_epsilon(delta)
        assert theirs * (1 - 1e-4) <= epsilon_of_zcdp(rho, delta) <= theirs * (1 + 1e-12)


# -- calibration undoes accounting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("currency", BACK)
def test_what_is_calibrated_is_accounted_as_what_was_asked(currency: str, delta: float) -> None:
    for epsilon in np.geomspace(1e-3, 200, 25):
        handed = CONVERSIONS[currency](epsilon, delta)  # type: ignore[index]
        assert BACK[currency](handed, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("there", "back"), [(epsilon_of_gdp, gdp_of_epsilon), (epsilon_of_zcdp, zcdp_of_epsilon)])
def test_what_is_accounted_is_calibrated_to_what_was_spent(there: Any, back: Any) -> None:
    for value, delta in product(np.geomspace(0.01, 50, 12), (1e-9, 1e-6, 1e-4)):
        if there(value, delta) > 0:
            assert back(there(value, delta), delta) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("costs", [lambda b: [Pure(b / 4)] * 3, lambda b: [Gdp(b), Zcdp(b)], lambda b: [Pure(b / 20)] * 400])
@pytest.mark.parametrize("currency", ["pure", "approx", "zcdp", "gdp"])
def test_a_mechanism_that_spends_otherwise_than_it_counts_is_searched_for(currency: Any, costs: Any) -> None:
    for epsilon in (0.05, 1.0, 9.0):

        def accounted(budget: float) -> float:
            return compose(costs(budget), 1e-6).epsilon

        assert accounted(calibrated(epsilon, 1e-6, currency, accounted)) == pytest.approx(epsilon, rel=1e-9)


def test_what_costs_nothing_or_everything_is_handed_the_conversion() -> None:
    for constant in (0.0, math.inf):
        assert calibrated(2.0, 1e-6, "zcdp", lambda budget, constant=constant: constant) == zcdp_of_epsilon(2.0, 1e-6)
    with pytest.raises(Refused, match="budget=claimed"):
        calibrated(2.0, 1e-6, "approx", lambda budget: 1.0)


# -- the laws of composition -----------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 30.0])
def test_the_normal_curve_of_a_pure_answer_lies_below_its_trade_off(epsilon: float) -> None:
    """δ(ε') of randomised response, the worst of ε-DP, against that of the normal shift: everywhere less, equal at ε' = 0."""
    mu = gdp_of_pure(epsilon)
    for other in np.linspace(0, epsilon, 40):
        randomised = max((math.exp(epsilon) - math.exp(other)) / (1 + math.exp(epsilon)), 0.0)
        assert randomised <= delta_of_gdp(mu, other) * (1 + 1e-9) + 1e-15
    assert delta_of_gdp(mu, 0.0) == pytest.approx(math.expm1(epsilon) / (1 + math.exp(epsilon)), rel=1e-9)


# -- the tight total -------------------------------------------------------------------------------------------------------


def ledger(*noises: Noise, delta: float = 1e-6, accounting: Any = "pld") -> Ledger:
    made = Ledger(Budget(1e3, delta, "approx", accounting))
    made.entries = [LedgerEntry.of(f"q{index}", noise) for index, noise in enumerate(noises)]
    return made


LEDGERS = [
    (laplace(3.0, 0.5, "p"),),
    (geometric(2, 0.7, "p"),),
    (gaussian(1.0, 0.5, "p"),),
    (concentrated(1.0, 0.125, "p"),),
    (laplace(3.0, 0.1, "p"),) * 30,
    (geometric(2, 0.1, "p"),) * 30,
    (laplace(1.0, 0.3, "p"), geometric(1, 0.2, "p"), gaussian(1.0, 0.4, "p"), concentrated(1.0, 0.02, "p")),
]


@oracle
@pytest.mark.parametrize("noises", LEDGERS, ids=lambda noises: f"{noises[0].law.name}, {len(noises)}")
def test_the_tight_total_is_never_above_the_closed_one(noises: tuple[Noise, ...]) -> None:
    tight, closed = ledger(*noises).total, ledger(*noises, accounting="closed").total
    assert 0 < tight.epsilon <= closed.epsilon
    assert tight.delta in (0.0, 1e-6)


@oracle
def test_the_tight_total_of_one_noise_is_its_own_curve() -> None:
    """Laplace: δ(ε) = 1 - e^((ε - b)/2), so that ε = b + 2 log(1 - δ); a normal shift: exactly GDP's; 1e-4 for the grid."""
    assert ledger(laplace(3.0, 0.5, "p"), delta=1e-2).total.epsilon == pytest.approx(0.5 + 2 * math.log(0.99), rel=1e-4)
    assert ledger(gaussian(1.0, 0.5, "p")).total.epsilon == pytest.approx(epsilon_of_gdp(0.5, 1e-6), rel=1e-4)
    # ρ = μ²/2 of a normal law is that law: the tight number undoes the loss of the conversion
    assert ledger(concentrated(1.0, 0.125, "p")).total.epsilon == pytest.approx(epsilon_of_gdp(0.5, 1e-6), rel=1e-4)


@oracle
@pytest.mark.parametrize("law", ["laplace", "geometric"])
def test_a_change_spread_over_coefficients_loses_no_more_than_one_that_is_not(law: str) -> None:
    """Exact δ(ε) of a change in two coordinates, by summing their losses, against that of the whole change in one."""
    a = math.exp(-0.5)  # one integer further, at scale 2

    def losses(steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Values and probabilities of the privacy loss of a shift."""
        if law == "geometric":
            x = np.arange(-200, 201)
            mass = (1 - a) / (1 + a) * a ** np.abs(x)
            return (np.abs(x - steps) - np.abs(x)) * 0.5, mass / mass.sum()
        x = np.linspace(-50, 50, 2_001)
        mass = np.exp(-np.abs(x) / 2)
        return (np.abs(x - steps) - np.abs(x)) / 2, mass / mass.sum()

    def delta(value: np.ndarray, mass: np.ndarray, epsilon: float) -> float:
        return float((mass * np.maximum(-np.expm1(epsilon - value), 0.0)).sum())

    whole, whole_mass = losses(5)
    for first in (1, 2):
        (one, one_mass), (other, other_mass) = losses(first), losses(5 - first)
        for epsilon in (0.0, 0.3, 1.0, 2.0, 2.4):
            spread = sum(mass * delta(other, other_mass, epsilon - value) for value, mass in zip(one, one_mass, strict=True))
            assert spread <= delta(whole, whole_mass, epsilon) + 1e-4


@oracle
def test_a_cost_without_its_noise_is_priced_by_what_it_says() -> None:
    costs = [Pure(0.3), Gdp(0.2), Approx(0.1, 1e-8)]
    made = Ledger(Budget(1.0, 1e-6, "approx", "pld"), [LedgerEntry("q", cost, True, "p") for cost in costs])
    assert 0.3 < made.total.epsilon <= compose(costs, 1e-6).epsilon
    looped = LedgerEntry.of("q", laplace(1.0, 0.5, "p"))
    doubled = LedgerEntry("q", Pure(1.0), True, "p", "L1", "laplace", 1.0, 0.5, looped.scale)
    # at worst randomised response, δ(ε') = (e - e^ε') / (1 + e): a loop's answers are not Laplace any more
    randomised = math.log(math.e - 0.01 * (1 + math.e))
    assert Ledger(Budget(1.0, 1e-2, "approx", "pld"), [doubled]).total.epsilon == pytest.approx(randomised, rel=1e-4)


@oracle
def test_a_ledger_that_cannot_be_priced_is_refused_and_one_without_a_guarantee_has_none() -> None:
    unknown = Ledger(Budget(1.0, 1e-6, "zcdp", "pld"), [LedgerEntry("strange", Zcdp(0.1), True, "p")])
    with pytest.raises(Refused, match="cannot price the query 'strange'"):
        _ = unknown.total
    nothing = Ledger(Budget(1.0, 1e-6, "zcdp", "pld"), [LedgerEntry("q", Nothing(), False, "p")])
    assert not nothing.total.private


def test_where_it_is_not_installed_the_line_to_install_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.cells.cell import Settings

    monkeypatch.setattr(privacy_loss, "find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"pip install 'dp-regression-bench\[accounting\]'"):
        Settings(accounting="pld")
    Settings()


# -- the bill --------------------------------------------------------------------------------------------------------------


def test_the_bill_is_the_sum_and_three_times_the_largest() -> None:
    found = price_selection([Guarantee(0.1, 0.0), Guarantee(0.8, 0.0), Guarantee(3.2, 0.0)])
    assert (found.cells, found.naive) == (3, Guarantee(pytest.approx(4.1), 0.0))
    assert found.selected == Guarantee(pytest.approx(9.6), 0.0)
    some = price_selection([Guarantee(0.5, 1e-6)] * 4)
    assert some.naive == Guarantee(2.0, pytest.approx(4e-6))
    assert some.selected.delta == pytest.approx(4e-6 * (1 + math.exp(1.5)))
    assert not price_selection([Guarantee(10.0, 1e-6)] * 4).selected.private
    assert "privacy/bill_selected_epsilon" not in price_selection([Guarantee(10.0, 1e-6)] * 4).metrics()


@pytest.mark.parametrize("mean", [10.0, 1_000.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_randomly_many_is_within_the_bound(seed: int, mean: float) -> None:
    """Exact output laws of the best of K draws, K geometric, for random pairs of ε-DP laws over ordered outcomes."""
    epsilon = 0.7
    generator = np.random.default_rng(seed)
    stop = 1 / mean

    def best(law: np.ndarray) -> np.ndarray:
        """P[best <= y] = E[F(y)^K] = γF / (1 - (1 - γ)F)."""
        below = np.cumsum(law)
        return np.diff(stop * below / (1 - (1 - stop) * below), prepend=0.0)

    largest = 0.0
    for _ in range(400):
        first = generator.dirichlet(np.full(6, 0.5)) + 1e-9
        second = first * np.exp(epsilon * generator.choice([-0.5, 0.5], 6))
        first, second = first / first.sum(), second / second.sum()
        if np.abs(np.log(first / second)).max() <= epsilon:
            largest = max(largest, float(np.abs(np.log(best(first) / best(second))).max()))
    assert epsilon < largest <= private_selection([Guarantee(epsilon, 0.0)] * 10).epsilon
