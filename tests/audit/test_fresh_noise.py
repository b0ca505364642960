"""Results that lie nearer to the exact fit than fresh noise leaves them are refused, others are not."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.audit.fresh_noise import check_fresh_noise
from dpbench.privacy.noise import Draws, Laplace
from dpbench.privacy.replay import Violation

EXACT = np.array([0.3, -0.2, 0.1])


def noisy(draws: Draws) -> np.ndarray:
    return EXACT + draws.standard(Laplace(), "sum", 0, 3)


def runs(count: int) -> list[tuple[int, int]]:
    return [(run, 0) for run in range(count)]


@pytest.mark.parametrize("count", [2, 4, 50])
def test_honest_results_pass(count) -> None:
    """False alarms: 1e-6 each, 1.5e-5 in all."""
    for seed in range(5):
        check_fresh_noise(noisy(Draws(seed, "", runs(count))), np.tile(EXACT, (count, 1)), runs(count), noisy)


@pytest.mark.parametrize("count", [4, 50])
def test_results_without_their_noise_are_refused(count) -> None:
    with pytest.raises(Violation, match="With fresh noise the weights lie further from the exact fit"):
        check_fresh_noise(np.tile(EXACT + 1e-3, (count, 1)), np.tile(EXACT, (count, 1)), runs(count), noisy)


def test_half_of_the_noise_is_refused_where_there_are_many_runs() -> None:
    weights = EXACT + 0.5 * (noisy(Draws(0, "", runs(250))) - EXACT)
    with pytest.raises(Violation):
        check_fresh_noise(weights, np.tile(EXACT, (250, 1)), runs(250), noisy)


def test_weights_that_never_change_pass() -> None:
    check_fresh_noise(np.zeros((4, 3)), np.tile(EXACT, (4, 1)), runs(4), lambda draws: np.zeros((4, 3)))


def test_weights_that_are_not_finite_pass() -> None:
    weights = np.full((4, 3), np.nan)
    check_fresh_noise(weights, np.tile(EXACT, (4, 1)), runs(4), lambda draws: weights)
