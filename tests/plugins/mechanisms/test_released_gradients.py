"""Released gradients that grew are told from those that only noise made longer.

A statistical test here rejects a correct implementation with probability at most 1e-6 over the choice of its seed, which is
fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

FALSE_ALARM_RATE = 1e-6
MAX_SHARE_FLAGGED = 0.002
"""The largest share of runs that may be flagged although no gradient grew: beyond three standard deviations of two lengths."""
RUNS = 4_000


@pytest.fixture
def gradients_grew(make) -> Callable[..., Any]:
    """The function, from the module of a mechanism that uses it."""
    return sys.modules[type(make("mechanism", "dp_gd")).__module__].gradients_grew  # type: ignore[no-any-return]


def released(lengths: np.ndarray, size: int, noise: float) -> np.ndarray:
    """Gradients of these lengths along a fixed direction, with normal noise, in many runs: (RUNS, T, size)."""
    direction = np.ones(size) / np.sqrt(size)
    generator = np.random.default_rng(size)
    return np.asarray(lengths[:, None] * direction + generator.normal(0, noise, (RUNS, len(lengths), size)))


@pytest.mark.parametrize("size", [2, 5, 30, 100])
@pytest.mark.parametrize("lengths", [np.zeros(8), np.zeros(25), 100 * 0.7 ** np.arange(25.0), np.full(8, 20.0)], ids=len)
def test_few_runs_are_flagged_whose_gradients_did_not_grow(lengths, size, gradients_grew) -> None:
    """The number of flagged runs against a binomial of the allowed share. False alarm 1e-6."""
    flags = gradients_grew(released(lengths, size, 1.0), np.ones((RUNS, len(lengths))))
    assert flags.sum() <= stats.binom.isf(FALSE_ALARM_RATE, RUNS, MAX_SHARE_FLAGGED)


@pytest.mark.parametrize("size", [2, 30])
def test_all_runs_are_flagged_whose_last_gradient_is_many_times_the_shortest(size, gradients_grew) -> None:
    lengths = np.array([50.0, 20.0, 10.0, 30.0, 90.0])
    assert gradients_grew(released(lengths, size, 1.0), np.ones((RUNS, 5))).all()


def test_without_noise_a_gradient_grew_that_is_more_than_twice_the_shortest(gradients_grew) -> None:
    gradients = np.array([[[3.0], [1.0], [last]] for last in (0.5, 1.9, 2.1)])
    assert gradients_grew(gradients, np.zeros((3, 3))).tolist() == [False, False, True]


def test_the_noise_of_each_step_counts(gradients_grew) -> None:
    """A first step with little noise does not make a last one with much noise long."""
    generator = np.random.default_rng(0)
    noise = np.tile([1.0, 10.0], (RUNS, 1))
    flags = gradients_grew(generator.normal(size=(RUNS, 2, 4)) * noise[:, :, None], noise)
    assert flags.sum() <= stats.binom.isf(FALSE_ALARM_RATE, RUNS, MAX_SHARE_FLAGGED)


def test_one_step_cannot_grow(gradients_grew) -> None:
    assert not gradients_grew(np.full((2, 1, 3), 7.0), np.zeros((2, 1))).any()
