"""The tight total is below the closed one, and exact where the exact curve is known."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpbench.accounting import privacy_loss
from dpbench.accounting.composition import compose
from dpbench.accounting.conversion import (
    epsilon_of_gdp,
)
from dpbench.accounting.costs import Approx, Gdp, LedgerEntry, Nothing, Pure, Zcdp
from dpbench.accounting.privacy_loss import epsilon_of_dp_accounting
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.noise import Noise, gaussian, geometric, laplace

oracle = pytest.mark.skipif(
    importlib.util.find_spec("dp_accounting") is None,
    reason="dp-accounting is not installed: pip install 'dp-regression-bench[accounting]' (dp-accounting)",
)


def ledger(*noises: Noise, delta: float = 1e-6, accounting: Any = "pld") -> Ledger:
    entries = [noise.ledger_entry(f"q{index}") for index, noise in enumerate(noises)]
    return Ledger(Budget(1e3, delta, "approx", accounting), entries)


LEDGERS = [
    (laplace(3.0, 0.5, "p"),),
    (geometric(2, 0.7, "p"),),
    (gaussian(1.0, 0.5, "p"),),
    (laplace(3.0, 0.1, "p"),) * 30,
    (geometric(2, 0.1, "p"),) * 30,
    (laplace(1.0, 0.3, "p"), geometric(1, 0.2, "p"), gaussian(1.0, 0.4, "p"), gaussian(1.0, 0.2, "p")),
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
def test_a_cost_without_its_noise_is_priced_by_its_stated_cost() -> None:
    costs = [Pure(0.3), Gdp(0.2), Approx(0.1, 1e-8)]
    made = Ledger(Budget(1.0, 1e-6, "approx", "pld"), [LedgerEntry("q", cost, True, "p") for cost in costs])
    assert 0.3 < made.total.epsilon <= compose(costs, 1e-6).epsilon
    looped = laplace(1.0, 0.5, "p").ledger_entry("q")
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


def test_without_dp_accounting_the_line_to_install_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.cells.cell import Settings

    monkeypatch.setattr(privacy_loss, "find_spec", lambda name: None)
    with pytest.raises(Refused, match=r"pip install 'dp-regression-bench\[accounting\]'"):
        Settings(accounting="pld")
    Settings()


@oracle
def test_the_grid_of_losses_is_fine_enough_for_many_answers() -> None:
    """100 normal answers are one of 10 times the μ; rounding upwards costs less than one part in 10⁵."""
    exact = epsilon_of_gdp(1.0, 1e-6)
    total = ledger(*[gaussian(1.0, 0.1, "p")] * 100).total.epsilon
    assert exact * (1 - 1e-9) <= total <= exact * (1 + 1e-5)


@oracle
def test_geometric_noise_is_priced_on_its_lattice_only_where_one_scale_moves_by_whole_steps() -> None:
    """ε(δ) of a shift by two steps of 0.35, exactly, by summing the losses; otherwise the stated ε counts, which is worse."""
    a, x = math.exp(-0.35), np.arange(-400, 401)
    mass = (1 - a) / (1 + a) * a ** np.abs(x)
    losses = (np.abs(x - 2) - np.abs(x)) * 0.35
    (entry,) = ledger(geometric(2, 0.7, "p")).entries
    delta = 0.05

    def total(entry: LedgerEntry) -> float:
        return Ledger(Budget(1e3, delta, "approx", "pld"), [entry]).total.epsilon

    lattice = total(entry)
    assert float((mass * np.maximum(-np.expm1(lattice - losses), 0.0)).sum()) == pytest.approx(delta, rel=1e-3)
    stated = math.log(math.exp(0.7) - delta * (1 + math.exp(0.7)))
    low, high = entry.scale or (0.0, 0.0)
    for scale in ((low, 2 * high), (low * 1.05, high * 1.05)):
        assert total(replace(entry, scale=scale)) == pytest.approx(stated, rel=1e-3) != pytest.approx(lattice, rel=1e-3)


@oracle
@pytest.mark.parametrize("epsilons", [(0.5,), (0.45,), (0.45, 0.05), (0.9, 0.1)])
def test_pure_answers_have_the_sum_of_their_epsilon_whatever_the_grid(epsilons: tuple[float, ...]) -> None:
    """The grid of a Laplace law's own losses rounds the largest one to infinity at some of these ε."""
    entries = [laplace(1.0, epsilon, "p").ledger_entry("q") for epsilon in epsilons]
    assert epsilon_of_dp_accounting(entries, 0.0) == pytest.approx(sum(epsilons), rel=1e-4)
