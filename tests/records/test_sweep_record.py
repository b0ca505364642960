"""A sweep record knows which overrides changed its preset, and comes back from the request in sweep.json."""

from __future__ import annotations

import json

import pytest

from dpbench.records.cell_record import CellRecord
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord

PRESET = Preset(name="paper/fig1", title="A paper, figure 1")


@pytest.mark.parametrize(
    ("override", "changed"),
    [
        ("epsilon=0.8", True),
        ("mechanism.ridge=4", True),
        ("+mechanism.ridge=4", True),
        ("experiment=paper/fig1", False),
        ("quick=true", False),
        ("tracking.uri=sqlite:///other.db", False),
        ("engine.workers=2", False),
        ("rerun=true", False),
        ("hydra.verbose=true", False),
        ("+hydra.verbose=true", False),
    ],
)
def test_a_preset_is_changed_by_what_is_run_and_not_by_how(override: str, changed: bool) -> None:
    sweep = SweepRecord((), "command", (override,), PRESET)
    assert sweep.changed == ([override] if changed else [])
    assert SweepRecord((), "command", (override,)).changed == [], "without a preset nothing is changed"


def test_it_comes_back_from_its_request() -> None:
    cells = (CellRecord("run", {"mechanism": "fm"}),)
    sweep = SweepRecord(cells, "command", ("epsilon=0.8",), PRESET, True, {"mechanism.ridge": "λ"}, run_id="abc")
    request = json.loads(json.dumps(sweep.request()))
    assert SweepRecord.from_request(request, cells, "abc") == sweep


def test_it_is_synthetic_if_any_cell_with_results_is() -> None:
    drawn = {"dpbench.synthetic": "true"}
    assert SweepRecord((CellRecord("run", {}, drawn), CellRecord("run", {})), "command").synthetic
    assert not SweepRecord((CellRecord("failed", {}, drawn), CellRecord("run", {})), "command").synthetic
