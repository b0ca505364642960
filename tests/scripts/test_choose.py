"""The script that judges `choose` on real tables: what it declares, what it reads off a measured curve, what it counts."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import pandas
import pytest
from script_loader import load_script

from dpbench.choosing.choice import Estimate
from dpbench.files.bounds_file import parse_bounds

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script() -> ModuleType:
    return load_script("choose")


def test_a_table_is_declared_with_one_digit_of_what_is_known(script: ModuleType) -> None:
    columns = {"a": {"kind": "real", "bounds": [0, 10]}, "b": {"kind": "categorical", "levels": ["x", "y"]}}
    frame = pandas.DataFrame({"a": [1.0, 2.0, 99.0], "b": ["x", "x", "y"]})
    known = script.declared({"columns": columns}, frame, True)
    assert known["a"] == {"low": 0, "high": 10, "kind": "continuous", "typical": 4.0, "spread": 4.0}
    assert known["b"] == {"levels": ["x", "y"], "shares": [0.7, 0.3]}
    assert "typical" not in script.declared({"columns": columns}, frame, False)["a"]
    assert set(parse_bounds(known, "mine").columns) == {"a", "b"}


def test_what_is_needed_lies_between_two_points_of_the_curve(script: ModuleType) -> None:
    curve = {0.1: 1.0, 1.0: 0.1, 10.0: 0.001}
    assert script.smallest(curve, 0.1) == pytest.approx(1.0)
    assert script.smallest(curve, 10**-0.5) == pytest.approx(10**-0.5)
    assert script.smallest(curve, 2.0) == 0.1
    assert script.smallest(curve, 0.0001) == math.inf


@pytest.mark.parametrize(
    ("typical", "safe", "needed", "verdicts"),
    [
        (1.0, 2.0, 1.0, (True, True, True, True)),
        (4.0, 5.0, 1.0, (False, True, False, False)),
        (0.5, 0.9, 1.0, (True, False, True, False)),
        (1.0, math.inf, math.inf, (False, True, False, False)),
        (1.0, 2.0, math.inf, (False, False, False, False)),
    ],
)
def test_a_line_counts_what_the_goals_say(
    script: ModuleType, typical: float, safe: float, needed: float, verdicts: tuple[bool, bool, bool, bool]
) -> None:
    line = script.Line("t", 100, 3, "best", 0.1, Estimate(typical, safe), needed)
    assert (line.close, line.safe, line.cheap, line.safe_and_cheap) == verdicts
    page = script.page({True: [line], False: [line]})
    assert page.count("| t | 100 | 3 | best |") == 2


def test_the_published_page_is_made_of_the_published_sweeps(script: ModuleType) -> None:
    """Every needed ε on the page is what the committed curves say."""
    sweeps = script.Sweeps(ROOT / "docs" / "results" / script.SWEEPS, 5)
    section = (ROOT / "docs" / "results" / "choose.md").read_text(encoding="utf-8").partition("## At most 10 % lost\n")[2]
    lines = [line.split(" | ") for line in section.partition("##")[0].splitlines() if "| best |" in line]
    assert len(lines) == 21
    for cells in lines:
        assert cells[4] == f"{script.smallest(sweeps.curve(cells[0].strip('| '), 'best'), 0.1):.2g}"
