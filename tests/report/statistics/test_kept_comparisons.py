"""A comparison that a sweep kept comes back as it was, and counts only for the same runs, threshold and code."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from report_helpers import RNG, errors_cell

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.report.statistics import kept_comparisons
from dpbench.report.statistics.kept_comparisons import KeptComparisons, content_of
from dpbench.report.statistics.paired import Comparison, compare


def recorded(name: str, seed: int, repeats: int = 12) -> CellRecord:
    return replace(errors_cell(name, RNG(seed).normal(1 + seed / 20, 0.1, (repeats, 5))), run_id=f"run {name}")


def without_runs(cell: CellRecord) -> CellRecord:
    return replace(cell, detail=DetailInMemory())


def read_back(*comparisons: Comparison) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(json.dumps(content_of(comparisons), allow_nan=False))
    return content


@pytest.mark.parametrize("repeats", [12, 3])
@pytest.mark.parametrize("threshold", [0.0, 10.0])
def test_it_comes_back_without_a_look_at_the_runs(repeats: int, threshold: float) -> None:
    one, other = recorded("a", 1, repeats), recorded("b", 2, repeats)
    made = compare(one, other, threshold)
    again = KeptComparisons(read_back(made))(without_runs(one), without_runs(other), threshold)
    assert replace(again, first=one, second=other) == made


def test_other_runs_and_other_thresholds_are_compared_anew() -> None:
    one, other = recorded("a", 1), recorded("b", 2)
    kept = KeptComparisons(read_back(compare(one, other, 0.0)))
    moved = replace(recorded("b", 3), run_id="another run")
    assert kept(one, moved, 0.0) == compare(one, moved, 0.0)
    assert kept(one, other, 10.0) == compare(one, other, 10.0)


def test_comparisons_of_other_code_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = recorded("a", 1), recorded("b", 2)
    content = read_back(compare(one, other))
    monkeypatch.setattr(kept_comparisons, "_code", lambda: "newer")
    assert KeptComparisons(content)(one, recorded("b", 3), 0.0) == compare(one, recorded("b", 3), 0.0)
