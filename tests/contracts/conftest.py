"""Rows that mechanisms fit in these tests."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.blocks import Block
from dpbench.data.scaling import scale
from dpbench.data.splits import Splits


@pytest.fixture
def block(table) -> Block:
    """The samples of three repeats of three folds of 121 rows."""
    generator = np.random.default_rng(0)
    x = generator.uniform(-1, 1, (121, 4))
    rows = scale(table(x, np.tanh(x.sum(axis=1))), "box", True, "real")
    splits = Splits(repeats=3, folds=3)
    return Block(lambda r: rows, lambda r: splits.assign(rows.n, rows.n, 0, "t", r), range(3), splits.parts, splits.tests)
