"""A verdict counts places, and says what it rests on and what is missing."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from made_cells import AB, A, B, cell, claimed, level, places

from dpbench.experiments.claims import Claim
from dpbench.experiments.scorecard import markdown, print_scorecard
from dpbench.experiments.verdicts import judge
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord

BELOW = {"below": AB}


def test_all_some_and_none() -> None:
    assert claimed(places(0.1, 0.1)).text == "holds (2 of 2)"
    assert claimed(places(0.1, -0.1)).text == "holds in 1 of 2"
    assert claimed(places(0.1, -0.1, 0)).text == "holds in 1 of 3, 1 against, 1 not decided"
    assert claimed(places(-0.1, -0.1)).text == "does not hold (2 of 2 against)"
    assert claimed(places(0.0)).text.startswith("not decided")
    assert claimed([]).text == "not run"


def test_a_quick_sweep_is_a_first_look() -> None:
    assert "first look" in claimed(places(0.1), quick=True).text
    assert "first look" not in claimed(places(0.1)).text


def test_the_worst_and_the_best_place_are_named() -> None:
    worst, best = claimed(places(0.1, 0.05, -0.1)).evidence
    assert worst.startswith("worst: linear on wine, ε = 3")
    assert best.startswith("best: linear on wine, ε = 1")


def test_synthetic_data_and_cells_that_are_not_ranked_are_said() -> None:
    rows = places(0.1)
    tags = {**rows[0].tags, "dpbench.synthetic": "true", "dpbench.leaks": "bounds"}
    found = claimed([replace(row, tags=tags) for row in rows])
    assert found.datasets == ["wine (SYNTHETIC)"]
    assert any("a: LEAKS bounds" in note for note in found.notes)


def test_at_limits_the_cells() -> None:
    assert claimed(places(0.1, -0.1), {"at": {"epsilon": "<= 1"}}).text == "holds (1 of 1)"


def test_a_cell_that_stands_in_two_sweeps_counts_once() -> None:
    rows = [replace(row, run_id=str(index)) for index, row in enumerate(places(0.1, 0.1))]
    sweep = SweepRecord(tuple(rows), "command")
    claim = Claim(paper="p", says="s", presets=["x", "y", "z"], check=BELOW)
    found = judge(claim, {"x": sweep, "y": sweep})
    assert (found.text, found.missing) == ("holds (2 of 2)", ("z",))


def test_of_several_presets_the_changed_one_is_named() -> None:
    rows = [replace(row, run_id=str(index)) for index, row in enumerate(places(0.1, 0.1))]
    changed = SweepRecord(tuple(rows[:2]), "command", ("experiment=y", "dataset=gaussian"), Preset(name="y", title="Y"))
    own = SweepRecord(tuple(rows[2:]), "command", ("experiment=x", "quick=true"), Preset(name="x", title="X"))
    found = judge(Claim(paper="p", says="s", presets=("x", "y"), check=BELOW), {"x": own, "y": changed})
    assert found.changed_grids == ["not the preset's own grid (y): dataset=gaussian"]


def test_a_preset_as_it_is_has_nothing_to_say_of_its_grid() -> None:
    own = SweepRecord(tuple(places(0.1)), "command", ("experiment=x", "quick=true"), Preset(name="x", title="X"))
    assert judge(Claim(paper="p", says="s", presets=("x",), check=BELOW), {"x": own}).text == "holds (1 of 1)"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            {"check": {"below": {"cells": {"mechanism": ["x", "y"]}, "against": B}}},
            "no finished cell with mechanism = x or y",
        ),
        ({"check": {"below": {"cells": A, "against": {"mechanism": "z"}}}}, "no finished cell with mechanism = z"),
        ({"at": {"epsilon": ">= 5"}}, "no finished cell with epsilon >= 5"),
        ({"check": {"falls": {"along": "dataset.n"}}}, "differ only in dataset.n"),
        ({"check": {"below": {"cells": A, "against": {"epsilon": 1}}}}, "what 'against' names"),
    ],
)
def test_what_a_sweep_lacks_is_said(claim: dict[str, Any], words: str) -> None:
    rows = [cell("a", level(0.1), epsilon=2), cell("b", level(0.2), epsilon=1)]
    found = claimed(rows, claim, run_id="abc123")
    assert found.text == "not run"
    assert words in found.notes[-1]
    out = io.StringIO()
    print_scorecard([found], out)
    assert "Read: sweep abc123, 2 cells: command\n" in out.getvalue()
    assert "Read: sweep abc123, 2 cells: command\n" in markdown([found])
    assert "Not run yet" not in out.getvalue()


def test_without_sweeps_nothing_is_decided() -> None:
    assert judge(Claim(paper="p", says="s", presets=("x",), check=BELOW), {}).text == "not run"
