"""Fixtures that the tests of several components share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows
from dpbench.data.splits import Splits


@pytest.fixture(scope="session")
def split() -> Callable[..., Block]:
    """Splits the same rows into folds, in each of these repeats."""

    def block(rows: Rows, repeats: Sequence[int] = range(2), folds: int = 3, seed: int = 0) -> Block:
        splits = Splits(repeats=max(repeats) + 1, folds=folds)
        labels = {repeat: splits.assign(rows.n, rows.n, seed, "t", repeat) for repeat in repeats}
        return Block(lambda repeat: rows, labels.__getitem__, repeats, splits.parts, splits.tests)

    return block
