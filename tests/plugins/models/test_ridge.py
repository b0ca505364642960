"""Ridge: the closed form, with an intercept that is not penalised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.samples import WholeSample
from dpbench.data.scaling import scale
from dpbench.data.table import Table
from dpbench.plugins.models.ridge import PenalisedSquares
from dpbench.privacy.curator import Curator


@pytest.fixture
def block(table: Callable[..., Table], split: Callable[..., Block]) -> Block:
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (203, 4)), np.eye(3)[generator.integers(3, size=203)]])
    y = np.tanh(x[:, 0] - x[:, 5] + 0.1 * generator.normal(size=203))
    return split(scale(table(x, y, (3,)), "box", True, "real"), folds=4)


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_is_its_closed_form_and_leaves_the_intercept_alone(intercept, make, curate, table) -> None:
    generator = np.random.default_rng(1)
    x = generator.uniform(-1, 1, (100, 3))
    rows = scale(table(x, np.clip(0.5 + 0.3 * x[:, 0], -1, 1)), "box", intercept, "real")
    penalty = np.diag([0.0, 1, 1, 1][-rows.x.shape[1] :] if intercept else [1.0, 1, 1])
    for weight in (0.0, 0.01, 1e6):
        problem = make("model", "ridge", penalty=weight, intercept=intercept).prepare(curate(rows))
        expected = np.linalg.solve(rows.x.T @ rows.x + rows.n * weight * penalty, rows.x.T @ rows.y)
        np.testing.assert_allclose(problem.exact(WholeSample(rows)).weights[0], expected, rtol=1e-9, atol=1e-12)
    if intercept:
        assert expected[0] == pytest.approx(rows.y.mean(), abs=1e-4), "all weight on the intercept"


def test_a_penalty_of_zero_is_the_linear_model_to_the_bit(block, make, curate) -> None:
    curator = curate(block.train, runs=block.runs)
    linear = make("model", "linear").prepare(curator)
    ridge = make("model", "ridge", penalty=0.0).prepare(curator)
    np.testing.assert_array_equal(linear.exact(block.train).weights, ridge.exact(block.train).weights)


def test_one_run_has_its_own_penalty(block: Block, make: Callable[..., Any], curate: Callable[..., Curator]) -> None:
    problem = PenalisedSquares(block.geometry, block.train.n, np.linspace(0.01, 0.3, block.train.runs))
    together = problem.exact(block.train).weights
    for run in range(block.train.runs):
        single = problem.for_run(run)
        assert single.penalty.tolist() == [problem.penalty[run]]
        np.testing.assert_array_equal(single.exact(block.train.for_run(run)).weights, together[run : run + 1])
