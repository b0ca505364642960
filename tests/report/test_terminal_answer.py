"""A sweep prints one decision table and a few plain sentences; everything else is in the report."""

from __future__ import annotations

import io
import re

import pytest
from cell_factory import make_cell, make_sweep
from report_helpers import PUBLIC_FIT, body, person_cell

from dpbench.records.cell_record import CellRecord
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_answer import ATTACKS_TEXT, TOO_NARROW, print_answer

UNIT = {"dpbench.target_unit": "USD"}
RAW = ("utility/rmse_raw_median", "reference/no_privacy/rmse_raw_median", "reference/mean_predictor/rmse_raw_median")


def answered(*cells: CellRecord, quick: bool = False) -> str:
    out = io.StringIO()
    print_answer(SweepSummary(make_sweep(cells, quick=quick)), out)
    return out.getvalue()


def words(*cells: CellRecord) -> str:
    return " ".join(answered(*cells).split())


def test_one_problem_has_a_row_for_each_epsilon_and_the_pick_is_marked() -> None:
    public = person_cell("no_privacy", 0.1, ranked=False)
    text = answered(*(person_cell("fm", error, epsilon) for epsilon, error in ((1, 0.3), (2, 0.13), (4, 0.11))), public)
    sentences = " ".join(text.split())
    assert text.startswith("linear on people: median rmse over the runs")
    assert body(text) == [
        ["", "1", "fm", "0.3000", "50 %"],
        [">", "2", "fm", "0.1300", "7.5 %"],
        ["", "4", "fm", "0.1100", "2.5 %"],
    ]
    assert "Pick the mechanism fm at ε = 2: the smallest ε of this sweep at which privacy costs at most 10 %" in sentences


def test_errors_are_in_the_targets_unit_and_scaled_and_the_ends_of_the_scale_are_named() -> None:
    metrics = dict(zip(RAW, (26_850.0, 25_870.0, 34_180.0), strict=True))
    text = answered(person_cell("fm", 0.14, tags=UNIT, metrics=metrics))
    assert "in USD" in text
    assert body(text) == [[">", "0.8", "fm", "26,850", "0.1400", "10.0 %"]]
    sentences = " ".join(text.split())
    assert "0 % is the fit without privacy (25,870 USD), 100 % is predicting the same" in sentences
    assert "for everybody (34,180 USD)" in sentences


def test_many_problems_have_one_row_each_and_none_is_left_out() -> None:
    cells = [
        person_cell("fm", error, epsilon, params={"dataset": f"d{number}"})
        for number in range(70)
        for epsilon, error in ((1, 0.13), (2, 0.11))
    ]
    text = answered(*cells)
    assert [row[0] for row in body(text)] == [f"linear on d{number}" for number in range(70)]
    assert {row[1] for row in body(text)} == {"1"}
    assert "at most 10 % of what the features can tell in 70 of 70 problems" in " ".join(text.split()).lower()


def test_a_problem_without_a_useful_fit_keeps_its_row() -> None:
    cells = [person_cell("fm", error, params={"dataset": name}) for name, error in (("easy", 0.11), ("hard", 2.0))]
    text = answered(*cells)
    assert [(row[0], row[-1]) for row in body(text)] == [("linear on easy", "2.5 %"), ("linear on hard", "475 %")]
    assert "in 1 no private fit is better than predicting the mean" in " ".join(text.split())


def test_no_word_of_the_trade_is_printed_unexplained() -> None:
    text = words(*(person_cell(name, 0.2, epsilon) for name in ("fm", "dpba") for epsilon in (1, 2)))
    for word in ("bill", "replay", "ledger", "private selection"):
        assert word not in text, word


def test_choosing_by_errors_on_private_rows_is_named_a_use_of_them() -> None:
    private = person_cell("fm", 0.11, tags={"dpbench.digest_key": "abc"})
    assert "Choosing a row by them is a use of those rows" in words(private)
    assert "Choosing a row" not in words(person_cell("fm", 0.11)), "the rows are public"


def test_where_no_cell_may_be_ranked_the_cells_are_printed_instead() -> None:
    text = answered(PUBLIC_FIT, make_cell("odd", 0.1, tags={"dpbench.sound": "false"}))
    assert [row[-1] for row in body(text)] == ["NOT PRIVATE", "UNPROVEN"]


def test_what_failed_or_was_pruned_stands_below_with_its_reason() -> None:
    rows = (make_cell("fm", 0.16), make_cell("bad", None, state="failed", reason="it broke"))
    assert "FAILED (1 cell of bad): it broke" in words(*rows)


def test_what_attacks_gained_has_a_table_of_its_own() -> None:
    found = {"attack/advantage_mean": 0.0134, "attack/cap": 0.05}
    text = answered(make_cell("fm", 0.16, params={"attack": "model_inversion"}, metrics=found))
    assert "What the attacks gained" in text
    assert ATTACKS_TEXT in " ".join(text.split())
    assert body(text)[-1] == ["model_inversion", "linear", "wine", "fm", "0.8", "0.0134", "0.05", "sound"]


def test_a_quick_sweep_says_that_it_proves_nothing() -> None:
    assert "quick=true" in answered(make_cell("fm", 0.16), quick=True)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_the_table_fits_usual_widths(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    metrics = {**dict(zip(RAW, (26_850.0, 25_870.0, 34_180.0), strict=True)), "inference/width_ratio_median": 7.23}
    tags = {**UNIT, "dpbench.interval_method": "delta"}
    names = ("objective_perturbation", "fm")
    cells = [person_cell(name, 0.12, epsilon, tags=tags, metrics=metrics) for name in names for epsilon in (1, 2)]
    out = Terminal()
    print_answer(SweepSummary(make_sweep(cells)), out)
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert max(map(len, text.splitlines())) <= columns
    assert "26,850" in text
    assert "…" not in text
    assert ("0.1200" in text) == (columns > 60)
    assert ("times as wide" in text) == (columns > 80)
    assert ("Intervals: the width" in " ".join(text.split())) == (columns > 80)
    assert (TOO_NARROW in " ".join(text.split())) == (columns <= 80)


def test_runs_that_lost_everything_have_a_column_where_there_are_any() -> None:
    cells = [person_cell("fm", 0.12, epsilon, metrics={"utility/failed_share": share}) for epsilon, share in ((1, 0.004), (2, 0))]
    text = answered(*cells)
    assert "lost all" in text
    assert body(text) == [[">", "1", "fm", "0.1200", "5.0 %", "0.4 %"], ["", "2", "fm", "0.1200", "5.0 %", "0.0 %"]]
    assert "lost all" not in answered(cells[1])
