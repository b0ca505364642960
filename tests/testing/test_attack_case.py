"""What the checks of an attack are tried on."""

from __future__ import annotations

import numpy as np

from dpbench.testing.attack_case import AttackCase


def test_each_row_trains_one_of_two_runs(make) -> None:
    case = AttackCase(make("attack", "membership"))
    assert len(case.block.runs) == 20
    assert case.exact(case.block).shape == case.unrelated(case.block).shape
    assert not np.array_equal(case.exact(case.block), case.unrelated(case.block))
