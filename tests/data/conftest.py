"""What the tests of blocks and of samples share: scaled rows, and a block of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows, scale
from dpbench.data.splits import Splits
from dpbench.data.table import Table


@pytest.fixture(scope="module")
def scaled(table: Callable[..., Table]) -> Rows:
    """5,003 rows of four numeric columns and a group of three, in the ball."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.uniform(-1, 1, (5_003, 4)), np.eye(3)[generator.integers(3, size=5_003)]])
    return scale(table(x, np.tanh(x.sum(axis=1)), (3,)), "ball", True, "real")


@pytest.fixture(scope="session")
def block_of() -> Callable[[Rows, Splits, int], Block]:
    """A block of all repeats of these splits, which sample this number of rows from the same table."""

    def built(rows: Rows, splits: Splits, sampled: int) -> Block:
        return Block(
            lambda repeat: rows,
            lambda repeat: splits.assign(rows.n, sampled, 0, "t", repeat),
            range(splits.repeats),
            splits.parts,
            splits.tests,
        )

    return built
