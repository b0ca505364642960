"""The price of releasing the best cell: in the printed table, in the note, on the parent run."""

from __future__ import annotations

import pytest
from cell_factory import make_cell, make_sweep
from report_helpers import note, priced_cell, printed, recorded

from dpbench.report.release_price import release_price
from dpbench.report.warning_texts import SIMULATED_NOISE

CELLS = [priced_cell("fm", 0.1), priced_cell("fm", 0.8), priced_cell("dpba", 3.2), priced_cell("no_privacy", private=False)]


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_the_bill_counts_private_cells_once_each() -> None:
    found = release_price([*CELLS, priced_cell("fm", 0.8, params={"attack": "membership"})])
    assert found is not None
    assert found.cells == 3
    assert found.naive.epsilon == pytest.approx(4.1)
    assert found.selected.epsilon == pytest.approx(9.6)
    assert recorded(CELLS)["privacy/bill_naive_epsilon"] == pytest.approx(4.1)


def test_tables_are_not_added_up_and_a_bound_is_never_rounded_down() -> None:
    """Rows of another table are other persons' rows."""
    rows = [priced_cell(epsilon=epsilon, params={"dataset": name}) for name in ("a", "b") for epsilon in (0.5, 2.0)]
    dear = priced_cell(epsilon=1442.4, params={"dataset": "b"})
    found = release_price([*rows, dear])
    assert found is not None
    assert (found.cells, found.naive.epsilon) == (3, pytest.approx(1444.9))
    assert "these 3 private cells on b, the most expensive of 2 tables: ε = 1445 if all" in printed([*rows, dear])
    assert "ε = 1445 if all" in printed([row for row in [*rows, dear] if row.params["dataset"] == "b"])
    assert "ε = 1443 if all" in printed([priced_cell(epsilon=1442.01), priced_cell(epsilon=0.1)]), "1442.11 would be 1442"


def test_where_there_is_no_choice_there_is_no_bill() -> None:
    for rows in ([], [CELLS[0]], [CELLS[0], CELLS[3]]):
        assert release_price(rows) is None
        assert recorded(rows) == {}
        assert "Releasing the best" not in printed(rows)
        assert "releasing the best" not in note(make_sweep(rows), None)


def test_the_table_and_the_note_say_what_the_best_would_cost_and_what_no_epsilon_covers() -> None:
    text = unwrapped(printed(CELLS))
    assert "Releasing the best of these 3 private cells: ε = 4.1 if all are released, ε = 9.6 by private selection" in text
    assert "choosing by these errors has no finite privacy cost" in text
    text = note(make_sweep(CELLS), None)
    assert "To fit each of the 3 private cells once on the same rows and publish them all: ε = 4.1, the sum." in text
    assert "ε = 9.6 (Papernot and Steinke 2022)" in text
    assert "choosing by these errors has no finite privacy cost" in text
    assert SIMULATED_NOISE in text
    assert SIMULATED_NOISE not in note(make_sweep([make_cell(tags={"dpbench.noise": "secure"})]), None)


def test_a_delta_is_part_of_the_price() -> None:
    assert "ε = 1 at δ = 2e-06 if all" in printed([priced_cell(name, 0.5, 1e-6) for name in "ab"])
    assert "no bound at this δ by private selection" in unwrapped(printed([priced_cell(name, 20.0, 1e-6) for name in "ab"]))
