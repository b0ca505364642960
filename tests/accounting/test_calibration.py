"""Calibration undoes accounting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.accounting.calibration import CONVERSIONS, calibrated, recorded
from dpbench.accounting.composition import Guarantee, compose
from dpbench.accounting.costs import Approx, Gdp, Pure, Zcdp
from dpbench.base.errors import Refused

BACK: dict[str, Callable[[float, float], float]] = {
    "pure": lambda epsilon, delta: compose([Pure(epsilon)], delta).epsilon,
    "approx": lambda epsilon, delta: compose([Approx(epsilon, delta)], delta).epsilon,
    "zcdp": lambda rho, delta: compose([Gdp(math.sqrt(2 * rho))], delta).epsilon,
    "gdp": lambda mu, delta: compose([Gdp(mu)], delta).epsilon,
}


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("currency", BACK)
def test_a_calibrated_budget_is_accounted_as_the_requested_epsilon(currency: str, delta: float) -> None:
    for epsilon in np.geomspace(1e-3, 200, 25):
        handed = CONVERSIONS[currency](epsilon, delta)
        assert BACK[currency](handed, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("currency", BACK)
def test_a_calibrated_total_is_recorded_as_the_requested_epsilon(currency: str, delta: float) -> None:
    for epsilon in (*np.geomspace(1e-3, 200, 25), 1.0, 3.0):
        total = Guarantee(BACK[currency](CONVERSIONS[currency](epsilon, delta), delta), delta)
        assert recorded(total, epsilon) == Guarantee(epsilon, delta)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1 - 1e-8, 1 + 1e-8, math.inf])
def test_a_total_that_is_another_number_is_recorded_as_it_is(epsilon: float) -> None:
    assert recorded(Guarantee(epsilon, 1e-6), 1.0) == Guarantee(epsilon, 1e-6)


@pytest.mark.parametrize("costs", [lambda b: [Pure(b / 4)] * 3, lambda b: [Gdp(b), Zcdp(b)], lambda b: [Pure(b / 20)] * 400])
@pytest.mark.parametrize("currency", ["pure", "approx", "zcdp", "gdp"])
def test_a_mechanism_that_spends_in_another_currency_than_it_counts_is_searched_for(currency: Any, costs: Any) -> None:
    for epsilon in (0.05, 1.0, 9.0):

        def accounted(budget: float) -> float:
            return compose(costs(budget), 1e-6).epsilon

        assert accounted(calibrated(epsilon, 1e-6, currency, accounted)) == pytest.approx(epsilon, rel=1e-9)


def test_a_mechanism_that_costs_nothing_or_everything_gets_the_conversion() -> None:
    for constant in (0.0, math.inf):
        assert calibrated(2.0, 1e-6, "zcdp", lambda budget, constant=constant: constant) == CONVERSIONS["zcdp"](2.0, 1e-6)
    with pytest.raises(Refused, match="budget=claimed"):
        calibrated(2.0, 1e-6, "approx", lambda budget: 1.0)


def test_a_search_that_ends_at_a_jump_is_refused() -> None:
    """An accounted ε that jumps over the requested one by a thousandth has no budget, however near it comes."""
    with pytest.raises(Refused, match="budget=claimed"):
        calibrated(2.0, 1e-6, "approx", lambda budget: budget * (0.9 if budget < 2.1 else 1.0))
    with pytest.raises(Refused, match="budget=claimed"):
        calibrated(2.0, 1e-6, "approx", lambda budget: budget * 0.7 + (0.001 if budget > 2.8559 else -0.001))
