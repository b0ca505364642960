"""Only runs whose spectrum is too coarse are solved again, and only where their columns do not depend on each other.

That the weights are right to nine digits is a law: tests/laws/test_numerical_safety.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.data.moments import Moments
from dpbench.fitting.unequal_spreads import refined
from dpbench.privacy.queries.quadratic import Quadratic

STEP = 2.0**-16


@pytest.fixture
def moments(geometry: Any) -> Moments:
    """Three runs: of usual columns, of one that varies by a grid step, and of two that are the same."""
    generator = np.random.default_rng(0)
    usual = np.round(generator.uniform(-1, 1, (1000, 3)) / STEP) * STEP
    narrow, equal = usual.copy(), usual.copy()
    narrow[:, 1] = 0.5 + STEP * (usual[:, 1] > 0)
    equal[:, 1] = equal[:, 0]
    stacked = [np.column_stack([np.ones(1000), columns]) for columns in (usual, narrow, equal)]
    return Moments(np.stack([z.T @ z for z in stacked]), geometry(2, intercept=True))


def test_usual_and_dependent_columns_keep_the_bits_of_their_weights(moments: Moments) -> None:
    objective = Quadratic(moments.xx, -2 * moments.xy)
    weights = objective.minimiser()
    again = refined(weights, objective, moments)
    np.testing.assert_array_equal(again[[0, 2]], weights[[0, 2]])
    assert (again[1] != weights[1]).any()


def test_a_run_does_not_depend_on_the_others(moments: Moments) -> None:
    objective = Quadratic(moments.xx, -2 * moments.xy)
    together = refined(objective.minimiser(), objective, moments)
    for run in range(3):
        alone = Moments(moments.gram[run : run + 1], moments.geometry)
        single = Quadratic(alone.xx, -2 * alone.xy)
        np.testing.assert_array_equal(refined(single.minimiser(), single, alone)[0], together[run])


def test_the_given_weights_are_not_changed(moments: Moments) -> None:
    objective = Quadratic(moments.xx, -2 * moments.xy)
    weights = objective.minimiser()
    before = weights.copy()
    refined(weights, objective, moments)
    np.testing.assert_array_equal(weights, before)
