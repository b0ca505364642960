"""A sweep's answer, leaderboards and price are computed once, and are in short what they are at length."""

from __future__ import annotations

import pytest
from cell_factory import make_cell, make_sweep

from dpbench.report import summary as module
from dpbench.report.summary import SweepSummary


def of_datasets(count: int) -> SweepSummary:
    """Two mechanisms on so many datasets: as many sentences."""
    names = [f"d{number}" for number in range(count)]
    return SweepSummary(make_sweep([make_cell(name, params={"dataset": table}) for table in names for name in ("fm", "dpba")]))


def test_everything_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for name in ("boards", "conclusion", "details", "short_answer", "release_price"):
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, name=name, function=function: calls.append(name) or function(*given))
    summary = of_datasets(7)
    for _ in range(2):
        assert summary.headlines + summary.short_answer
        assert summary.metrics
    assert sorted(calls) == ["boards", "conclusion", "details", "release_price", "short_answer"]


@pytest.mark.parametrize(("problems", "headlines"), [(1, 1), (3, 7), (6, 8), (7, 3)])
def test_up_to_eight_sentences_are_printed_and_more_are_summed_up(problems: int, headlines: int) -> None:
    """Problems up to three have a sentence each, more are counted in one; another says how much is lost."""
    assert len(of_datasets(problems).headlines) == headlines


@pytest.mark.parametrize(("problems", "details"), [(1, 0), (2, 2)])
def test_a_conclusion_that_holds_every_number_needs_no_details(problems: int, details: int) -> None:
    summary = of_datasets(problems)
    assert len(summary.details) == details
    assert summary.answer == [*summary.conclusion, *summary.details]
    assert summary.short_answer[:-1] == summary.conclusion


def test_the_parent_run_has_the_price_as_metrics() -> None:
    assert of_datasets(1).metrics["privacy/release_cells"] == 2
    assert SweepSummary(make_sweep([make_cell()])).metrics == {}
