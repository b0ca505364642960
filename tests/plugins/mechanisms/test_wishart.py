"""One step of the published algorithm: how ε divides into the releases, and the noise on A."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import pytest

from dpbench.plugins.mechanisms._wishart import epsilon_per_release, noise_on_a
from dpbench.privacy.ledger import Budget
from dpbench.privacy.queries.weighted_moments import WeightedMoments

STEPS = [1, 5, 40]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_conventional_and_concentrated_composition_are_as_printed(steps: int, epsilon: float) -> None:
    budget = Budget(epsilon, 1e-6, "pure")
    assert epsilon_per_release("conventional", "laplace", budget, steps) == pytest.approx(epsilon / (2 * steps))
    assert epsilon_per_release("cdp", "laplace", budget, steps) == pytest.approx(sqrt(epsilon / steps))


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("distribution", "share"), [("laplace", 1.0), ("gaussian", 0.5)])
def test_advanced_composition_adds_up_to_epsilon(steps: int, epsilon: float, distribution: str, share: float) -> None:
    """Dwork and Roth 2014, Theorem 3.20; Gaussian noise keeps half of δ for itself."""
    delta = 1e-6
    single = epsilon_per_release("advanced", distribution, Budget(epsilon, delta, "approx"), steps)
    releases = 2 * steps
    total = sqrt(2 * releases * log(1 / (share * delta))) * single + releases * single * (exp(single) - 1)
    assert total == pytest.approx(epsilon)


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_the_noise_on_a_shrinks_in_proportion_to_epsilon(distribution: str, geometry: Callable) -> None:
    moments = WeightedMoments(geometry(3))
    small, large = (noise_on_a(moments, distribution, epsilon, 1e-6).scale for epsilon in (0.5, 1.0))
    assert small == pytest.approx(2 * large)
