"""What is private and what is not is said in words."""

from __future__ import annotations

from pathlib import Path

from cell_factory import make_sweep
from report_helpers import COMMAND, csv_of, page_of, person_cell

from dpbench.records.sweep_record import SweepRecord


def test_it_says_what_is_not_private_and_why(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    text = page_of(sweep, tmp_path).text
    assert "NOT PRIVATE: open" in text
    assert "No ε covers these results" in text
    assert "LEAKS: leaky" in text
    assert "UNPROVEN: claimed" in text
    assert "sound: good and fair" in text
    assert "publishing them is a release of its own" in text
    assert csv_of(tmp_path / "leaks.csv") == [
        {"mechanism": "leaky", "leak": "bounds", "why": "read; from the rows", "cells": "1"}
    ]


def test_a_guarantee_at_a_delta_is_not_called_pure(tmp_path: Path, undrawn: None) -> None:
    pure, at_delta = person_cell("good", 0.2), person_cell("fair", 0.3, metrics={"privacy/delta": 1e-6})
    factor, besides = "no release becomes more likely by more than a factor of e^ε", "at most e^ε times what it was, plus δ"
    for rows, promised in (((pure,), (True, False)), ((at_delta,), (False, True)), ((pure, at_delta), (True, True))):
        text = page_of(SweepRecord(rows, COMMAND), tmp_path).text
        assert (factor in text, besides in text) == promised
        assert ("0.8 at δ = 1e-06" in text) == (at_delta in rows)
    assert "0.8 (δ = 1e-06)" in text, "in the decision table"
    assert [line["delta"] for line in csv_of(tmp_path / "leaderboard.csv")] == ["0.0", "1e-06"]


def test_a_mechanism_with_ranked_and_other_cells_is_named_with_what_tells_them_apart(tmp_path: Path, undrawn: None) -> None:
    leaking = {"dpbench.leaks": "cv"}
    rows = [person_cell("fm", 0.2), person_cell("fm", 0.3, params={"model": "ridge"}, tags=leaking)]
    text = page_of(make_sweep(rows, COMMAND), tmp_path).text
    assert "nothing leaked; fm with ridge LEAKS cv, and must not be released" in text
    assert "LEAKS: fm with ridge" in text
    assert "sound: fm with linear" in text
    rows = [person_cell("fm", 0.2), person_cell("fm", 0.3, params={"dataset": "other"}, tags=leaking)]
    assert "fm on other LEAKS cv" in page_of(make_sweep(rows, COMMAND), tmp_path).text
