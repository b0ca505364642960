"""Weighted moments are clipped sums of weighted rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import CHUNK, scale
from dpbench.data.splits import Splits
from dpbench.privacy.queries.query import Passes, contributions, exact_answer
from dpbench.privacy.queries.weighted_moments import WeightedMoments

KAPPA = 5.0


def weighted(geometry: Any, weights: np.ndarray | float) -> WeightedMoments:
    """Rows that weigh what they are told to."""
    state = np.zeros((1, geometry.dimension))
    return WeightedMoments(geometry, lambda residuals: weights * np.ones(len(residuals)), state, KAPPA)


def test_a_weighted_intercept_is_private_and_an_unweighted_one_is_not(geometry, rows) -> None:
    g = geometry(3, (2,), intercept=True)
    plain, private = WeightedMoments(g), weighted(g, KAPPA)
    assert private.size == plain.size + 1
    z = rows(g, [[0.5, -1, 1, 0, 1], [0, 1, -0.25, 1, 0]], [0.5, -1])
    B = private.quadratic(exact_answer(private, WholeSample(z)), np.array([2.0])).matrix[0]
    np.testing.assert_allclose(B, KAPPA * z.x.T @ z.x, rtol=1e-14)
    objective = plain.quadratic(exact_answer(plain, WholeSample(z)), np.array([2.0]))
    np.testing.assert_array_equal(objective.matrix[0], z.x.T @ z.x)
    np.testing.assert_array_equal(objective.linear[0], -2 * z.x.T @ z.y)


def test_weights_beyond_the_bound_are_clipped_to_it(geometry, rows) -> None:
    """A stranger's weights cannot break the bound: neither large nor negative ones."""
    g = geometry(2)
    z = rows(g, [[1, 0.5], [0.25, -1]], [1, -1])
    for told, kept in ((1e9, KAPPA), (-3.0, 0.0)):
        np.testing.assert_array_equal(contributions(weighted(g, told), z, 0), contributions(weighted(g, kept), z, 0))


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_an_exact_answer_is_the_sum_of_its_contributions_in_every_run(scaling, table, curate) -> None:
    """Rows of more than one chunk, weights by each run's own state, whole blocks and single runs to the bit."""
    rng = np.random.default_rng(0)
    n = CHUNK + 1_000
    x = np.column_stack([rng.uniform(-1, 1, (n, 3)), np.eye(3)[rng.integers(3, size=n)]])
    rows = scale(table(x, np.tanh(x.sum(axis=1)), (3,)), scaling, True, "real")
    splits = Splits(repeats=2, folds=20)
    block = Block(lambda r: rows, lambda r: splits.assign(n, n, 0, "t", r), range(1), splits.parts, splits.tests)
    state = rng.normal(size=(block.train.runs, 7))

    def weigh(residuals: np.ndarray) -> np.ndarray:
        return np.asarray(1 / np.maximum(1 / KAPPA, np.abs(residuals)))

    query = WeightedMoments(rows.geometry, weigh, state, KAPPA)
    exact = exact_answer(query, block.train)
    for run in range(block.train.runs):
        added = contributions(query, block.train.rows(run), run).sum(axis=0)
        np.testing.assert_allclose(exact[run], added, rtol=1e-11, atol=1e-9)
    for run in (0, 13):
        single = WeightedMoments(rows.geometry, weigh, state[run : run + 1], KAPPA)
        alone = exact_answer(single, block.train.for_run(run))
        np.testing.assert_array_equal(alone[0], exact[run])
    passes = Passes()
    parts = [exact_answer(part, block.train, passes) for part in (query.matrix, query.vector)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), exact)
    assert [query.matrix.size, query.vector.size] == [part.shape[1] for part in parts]
    assert query.identity != WeightedMoments(rows.geometry, weigh, 2 * state, KAPPA).identity


def test_weights_without_a_state_are_refused(geometry) -> None:
    for more in ({"weigh": np.ones_like}, {"state": np.zeros((1, 2))}, {"largest": 5.0}):
        with pytest.raises(ValueError, match="need a state"):
            WeightedMoments(geometry(2), **more)
