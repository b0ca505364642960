"""A replay of a built-in mechanism raises no alarm: 40 replays here, 200 in scripts/audit_full.py. Nor do honest plugins."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import dpbench
from dpbench.audit.subject import example_geometry
from dpbench.testing import check


@pytest.mark.parametrize("number", range(10))
def test_no_replay_of_a_built_in_mechanism_raises_an_alarm(number, cases, make, audited) -> None:
    shape: tuple[Any, ...] = cases.GEOMETRIES[number]
    assert example_geometry(make("model", "linear"), *shape).features == shape[0] + shape[1]
    for name in cases.REPLAYED:
        outcome = audited(make("mechanism", name), shape=shape, level="replay", seed=cases.SEEDS[number % 5])
        assert outcome.passed, outcome.violations


def test_honest_plugins_are_sound_in_a_sweep(honest, fresh, tmp_path, monkeypatch) -> None:
    """They round, stop or refuse in ways of their own."""
    shutil.copy(Path(__file__).with_name("honest.py"), tmp_path)
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path))
    keys = {"dataset": "wine", "mechanism": [cls.name for cls in honest.HONEST], "splits.repeats": 1, "audit.level": "replay"}
    cells = dpbench.sweep({"engine": "serial", "epsilon": 1.0, **keys}, record=False).full.to_dict("records")
    assert len(cells) == 5
    for cell in cells:
        assert cell["dpbench.guarantee"] == "sound", cell["dpbench.guarantee_why"]


@pytest.mark.parametrize("number", range(5))
def test_honest_plugins_keep_every_law(number, honest) -> None:
    findings = check(honest.HONEST[number])
    assert findings.passed, "\n".join(findings.lines())
