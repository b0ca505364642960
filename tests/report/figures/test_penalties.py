"""Captions say which penalties cross-validation chose."""

from __future__ import annotations

from collections.abc import Callable

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures.penalties import penalty_sentence


def test_chosen_penalties_have_their_range(make_cell: Callable[..., CellRecord]) -> None:
    first = {"health/penalty": 0.1, "health/penalty_min": 0.03, "health/penalty_max": 1.0}
    other = {"health/penalty": 0.3, "health/penalty_min": 0.1, "health/penalty_max": 3.0}
    cells = [make_cell("fm", 0.3, metrics=first), make_cell("fm", 0.3, metrics=other), make_cell("fm", 0.3)]
    assert penalty_sentence(cells) == "Cross-validation chose λ from 0.03 to 3 (medians of a cell: 0.1 to 0.3)."


def test_a_fixed_penalty_was_not_chosen(make_cell: Callable[..., CellRecord]) -> None:
    assert penalty_sentence([make_cell("fm", 0.3)]) == ""
