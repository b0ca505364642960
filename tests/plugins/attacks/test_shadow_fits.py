"""Shadow fits: random splits of the same shape, and evidence from the fits with a row and those without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.contracts.attack import AttackTarget
from dpbench.data.blocks import Block
from dpbench.plugins.attacks._shadow_fits import Evidence, members, shadow_block


@pytest.fixture
def target(split: Callable[..., Block], attack_target: Callable[..., AttackTarget], geometry: Any, rows: Any) -> AttackTarget:
    table = rows(geometry(2), np.random.default_rng(0).uniform(-1, 1, (31, 2)), np.zeros(31))
    block = split(table, range(2), folds=3)
    return attack_target(None, block, np.zeros((6, 2)))


def test_shadow_splits_have_the_sizes_of_the_attacked_splits_and_differ(target: AttackTarget) -> None:
    shadows = shadow_block(target, 0, fits=10)
    assert len(shadows.runs) == 12, "whole splits of 3 fits"
    sizes = {tuple(np.bincount(shadows.labels(repeat))) for repeat in shadows.repeats}
    assert sizes == {tuple(np.bincount(target.block.labels(0)))}
    assert len({shadows.labels(repeat).tobytes() for repeat in shadows.repeats}) == 4
    np.testing.assert_array_equal(shadow_block(target, 1, fits=10).labels(2), shadows.labels(2))


def test_members_are_the_rows_outside_the_tested_fold(target: AttackTarget) -> None:
    positions = np.array([3, 0, 20])
    for repeat, fold in target.block.runs:
        expected = target.block.labels(repeat)[positions] != fold
        np.testing.assert_array_equal(members(target.block, repeat, fold, positions), expected)


def test_evidence_is_the_log_ratio_of_two_normal_laws() -> None:
    """Against the definition, row by row; a fit without weights does not count."""
    generator = np.random.default_rng(1)
    x, weights = generator.normal(size=(5, 3)), generator.normal(size=(40, 3))
    is_member = generator.random((5, 40)) < 0.5
    weights[7] = np.nan
    evidence = Evidence.of(x, weights, is_member)
    for row in range(5):
        linear = x[row] @ weights.T
        finite = np.isfinite(linear)
        with_row, without = linear[is_member[row] & finite], linear[~is_member[row] & finite]
        squares = ((with_row - with_row.mean()) ** 2).sum() + ((without - without.mean()) ** 2).sum()
        variance = squares / (len(with_row) + len(without) - 2)
        new = 0.3
        expected = ((new - without.mean()) ** 2 - (new - with_row.mean()) ** 2) / (2 * variance)
        assert evidence.log_ratio(np.full(5, new))[row] == pytest.approx(expected)


@pytest.mark.parametrize("fits_with", [0, 1, 9, 10])
def test_too_few_fits_on_one_side_give_no_evidence(fits_with: int) -> None:
    is_member = np.arange(10)[None] < fits_with
    evidence = Evidence.of(np.ones((1, 1)), np.random.default_rng(2).normal(size=(10, 1)), is_member)
    assert evidence.log_ratio(np.array([1.0])) == 0
