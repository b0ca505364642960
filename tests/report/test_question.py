"""The question of a sweep is said in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cell_factory import make_cell, make_sweep, unbudgeted
from report_helpers import COMMAND, page_of, person_cell

from dpbench.records.cell_record import DetailInMemory
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.question import question


def test_question_and_answer_are_in_words(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    text = page_of(sweep, tmp_path).text
    assert (
        "Which of good, fair, leaky and claimed has the lowest error at which ε (0.5 or 2), fitting linear on people (100 rows)?"
        in text
    )
    assert "8 cells of 10 have a result, each over 24 runs (12 x 2-fold)." in text
    assert "linear on people at ε = 0.5: good has the lowest median rmse" in text
    assert "4 of 8 cells are ranked" in text
    assert COMMAND in text
    assert "9.9" in text


def test_a_single_run_is_not_several(tmp_path: Path, undrawn: None) -> None:
    row = person_cell("good", 0.2)
    one = DetailInMemory(row.detail.config, row.detail.ledger, {name: values[:1] for name, values in row.detail.runs.items()})
    assert "each over 1 run (" in page_of(make_sweep([replace(row, detail=one)], COMMAND), tmp_path).text


def test_cells_without_a_budget_ask_at_no_epsilon() -> None:
    level = unbudgeted(make_cell("no_privacy", 0.1, private=False))
    assert question(make_sweep([level]))[0].startswith("How large is the error of no_privacy, fitting linear on")
    assert question(make_sweep([level, make_cell("fm")]))[0].startswith("How large is the error of fm at ε = 0.8, fitting")
