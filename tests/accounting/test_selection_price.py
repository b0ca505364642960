"""The price of selection is the sum for releasing everything, and 3ε for private selection."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.accounting.composition import Guarantee
from dpbench.accounting.selection_price import price_selection, private_selection


def test_the_price_is_the_sum_and_three_times_the_largest() -> None:
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


def test_private_selection_is_priced_until_its_failures_add_up_to_one() -> None:
    """Two cells of ε = 3: δ = 2 · 4e-5 (1 + e⁹) = 0.65 is stated, at 7e-5 it would be 1.13, and there is no bound."""
    stated = private_selection([Guarantee(3.0, 4e-5)] * 2)
    assert stated == Guarantee(9.0, pytest.approx(8e-5 * (1 + math.exp(9.0))))
    assert stated.delta > 0.5
    assert not private_selection([Guarantee(3.0, 7e-5)] * 2).private
    assert private_selection([Guarantee(200.0, 1e-290)]).delta == pytest.approx(1e-290 * math.exp(600.0))
    assert not private_selection([Guarantee(240.0, 1e-300)]).private
    assert private_selection([]) == Guarantee(0.0, 0.0)
