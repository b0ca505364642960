"""A replay of a built-in mechanism raises no alarm: 40 replays here, 200 in scripts/audit_full.py."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.audit.subject import example_geometry


@pytest.mark.parametrize("number", range(10))
def test_no_replay_of_a_built_in_mechanism_raises_an_alarm(number, cases, make, audited) -> None:
    shape: tuple[Any, ...] = cases.GEOMETRIES[number]
    assert example_geometry(make("model", "linear"), *shape).features == shape[0] + shape[1]
    for name in cases.REPLAYED:
        outcome = audited(make("mechanism", name), shape=shape, level="replay", seed=cases.SEEDS[number % 5])
        assert outcome.passed, outcome.violations
