"""The price of selection is the sum for releasing everything, and 2ε or 3ε for private selection."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpbench.accounting.composition import Guarantee
from dpbench.accounting.selection_price import GEOMETRIC, LOGARITHMIC, price_selection, private_selection


def test_the_price_is_the_sum_and_two_or_three_times_the_largest() -> None:
    found = price_selection([Guarantee(0.1, 0.0), Guarantee(0.8, 0.0), Guarantee(3.2, 0.0)])
    assert (found.cells, found.naive) == (3, Guarantee(pytest.approx(4.1), 0.0))
    assert found.selected == Guarantee(pytest.approx(6.4), 0.0)
    assert found.geometric == Guarantee(pytest.approx(9.6), 0.0)
    assert not found.selection_pays
    some = price_selection([Guarantee(0.5, 1e-6)] * 4)
    assert some.naive == Guarantee(2.0, pytest.approx(4e-6))
    assert some.selected == Guarantee(1.0, pytest.approx(4e-6 * (1 + math.exp(1.0))))
    assert some.geometric.delta == pytest.approx(4e-6 * (1 + math.exp(1.5)))
    assert some.selection_pays
    assert not price_selection([Guarantee(10.0, 1e-6)] * 4).selected.private
    assert "privacy/release_best_epsilon" not in price_selection([Guarantee(10.0, 1e-6)] * 4).metrics()


def best(law: np.ndarray, stop: float, eta: float) -> np.ndarray:
    """Return the law of the best of K draws: P[best <= y] = E[F(y)^K], by the generating function of K's law of shape η."""
    rest = 1 - (1 - stop) * np.cumsum(law)
    below = np.log(rest) / math.log(stop) if eta == 0 else (rest**-eta - 1) / (stop**-eta - 1)
    return np.diff(below, prepend=0.0)


@pytest.mark.parametrize("eta", [LOGARITHMIC, GEOMETRIC])
@pytest.mark.parametrize("stop", [0.1, 1e-3])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_randomly_many_is_within_the_bound(seed: int, stop: float, eta: float) -> None:
    """Exact output laws of the best of K draws, for random pairs of ε-DP laws over ordered outcomes."""
    epsilon = 0.7
    generator = np.random.default_rng(seed)
    largest = 0.0
    for _ in range(400):
        first = generator.dirichlet(np.full(6, 0.5)) + 1e-9
        second = first * np.exp(epsilon * generator.choice([-0.5, 0.5], 6))
        first, second = first / first.sum(), second / second.sum()
        if np.abs(np.log(first / second)).max() <= epsilon:
            losses = np.log(best(first, stop, eta) / best(second, stop, eta))
            largest = max(largest, float(np.abs(losses).max()))
    assert 0.9 * epsilon < largest <= private_selection([Guarantee(epsilon, 0.0)] * 10, eta).epsilon


@pytest.mark.parametrize("eta", [LOGARITHMIC, GEOMETRIC])
def test_no_smaller_price_holds(eta: float) -> None:
    """Many draws of two rare outcomes: in the first world the lesser is e^ε times as likely, and the better e^-ε times."""
    epsilon = 0.7
    rare = np.array([1e-9, 1e-4])
    first, second = (np.array([1 - law.sum(), *law]) for law in (rare * [math.exp(epsilon), 1], rare * [1, math.exp(epsilon)]))
    loss = math.log(best(first, 1e-9, eta)[1] / best(second, 1e-9, eta)[1])
    assert loss == pytest.approx(private_selection([Guarantee(epsilon, 0.0)] * 2, eta).epsilon, abs=1e-3)


def test_private_selection_is_priced_until_its_failures_add_up_to_one() -> None:
    """Two cells of ε = 3: δ = 2 · 4e-5 (1 + e⁹) = 0.65 is stated, at 7e-5 it would be 1.13, and there is no bound."""
    stated = private_selection([Guarantee(3.0, 4e-5)] * 2, GEOMETRIC)
    assert stated == Guarantee(9.0, pytest.approx(8e-5 * (1 + math.exp(9.0))))
    assert stated.delta > 0.5
    assert not private_selection([Guarantee(3.0, 7e-5)] * 2, GEOMETRIC).private
    assert private_selection([Guarantee(200.0, 1e-290)], GEOMETRIC).delta == pytest.approx(1e-290 * math.exp(600.0))
    assert not private_selection([Guarantee(240.0, 1e-300)], GEOMETRIC).private
    assert private_selection([], GEOMETRIC) == Guarantee(0.0, 0.0)
