"""The bill stands in the table, in the note and on the parent run; what leaks is said with its reason."""

from __future__ import annotations

import io
from typing import Any

import pytest

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.note import note as note_of
from dpbench.report.release_price import release_price
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import print_table
from dpbench.report.warning_texts import SIMULATED_NOISE


def cell(mechanism: str = "fm", epsilon: float = 0.8, delta: float = 0.0, params: Any = (), **tags: str) -> CellRecord:
    named = {
        "mechanism": mechanism,
        "model": "linear",
        "dataset": "wine",
        "attack": "none",
        "epsilon": f"{epsilon:g}",
        "splits": "s",
    }
    standing = {"sound": "true", "private": "true", "leaks": "", "noise": "simulation", **tags}
    metrics = {"utility/rmse_median": 0.2, "privacy/delta": delta}
    metrics |= {"privacy/epsilon_accounted": epsilon} if standing["private"] == "true" else {}
    why = standing.pop("leaks_why", "")
    leaks = [dict(zip(("what", "why"), why.split(": "), strict=True))] if why else []
    tags = {f"dpbench.{name}": text for name, text in standing.items()}
    return CellRecord("run", {**named, **dict(params)}, tags, metrics, "rmse", detail=DetailInMemory(ledger={"leaks": leaks}))


def printed(*rows: CellRecord) -> str:
    out = io.StringIO()
    print_table(SweepSummary(SweepRecord(rows, "c")), out)
    return " ".join(out.getvalue().split())


def note(sweep: SweepRecord, figure: str | None) -> str:
    return note_of(SweepSummary(sweep), figure)


def recorded(cells: Any) -> Any:
    return SweepSummary(SweepRecord(tuple(cells), "c")).metrics


CELLS = (cell("fm", 0.1), cell("fm", 0.8), cell("dpba", 3.2), cell("no_privacy", 0.8, private="false", sound="false"))


def test_the_bill_counts_private_cells_once_each() -> None:
    found = release_price([*CELLS, cell("fm", 0.8, params={"attack": "membership"}.items())])
    assert found is not None
    assert found.cells == 3
    assert found.naive.epsilon == pytest.approx(4.1)
    assert found.selected.epsilon == pytest.approx(9.6)
    assert recorded(CELLS)["privacy/bill_naive_epsilon"] == pytest.approx(4.1)


def test_tables_are_not_added_up_and_a_bound_is_never_rounded_down() -> None:
    """Rows of another table are other persons' rows."""
    rows = [cell(epsilon=epsilon, params={"dataset": name}.items()) for name in ("a", "b") for epsilon in (0.5, 2.0)]
    dear = cell(epsilon=1442.4, params={"dataset": "b"}.items())
    found = release_price([*rows, dear])
    assert found is not None
    assert (found.cells, found.naive.epsilon) == (3, pytest.approx(1444.9))
    assert "these 3 private cells on b, the most expensive of 2 tables: ε = 1445 if all" in printed(*rows, dear)
    assert "ε = 1445 if all" in printed(*(row for row in [*rows, dear] if row.params["dataset"] == "b"))
    assert "ε = 1443 if all" in printed(cell(epsilon=1442.01), cell(epsilon=0.1)), "1442.11 would be 1442"


def test_where_there_is_no_choice_there_is_no_bill() -> None:
    for rows in ([], [CELLS[0]], [CELLS[0], CELLS[3]]):
        assert release_price(rows) is None
        assert recorded(rows) == {}
        assert "Releasing the best" not in printed(*rows)
        assert "releasing the best" not in note(SweepRecord(tuple(rows), "c"), None)


def test_the_table_and_the_note_say_what_the_best_would_cost_and_what_no_epsilon_covers() -> None:
    text = printed(*CELLS)
    assert "Releasing the best of these 3 private cells: ε = 4.1 if all are released, ε = 9.6 by private selection" in text
    assert "choosing by these errors has no finite privacy cost" in text
    text = note(SweepRecord(tuple(CELLS), "c"), None)
    assert "To fit each of the 3 private cells once on the same rows and publish them all: ε = 4.1, the sum." in text
    assert "ε = 9.6 (Papernot and Steinke 2022)" in text
    assert "choosing by these errors has no finite privacy cost" in text
    assert SIMULATED_NOISE in text
    assert SIMULATED_NOISE not in note(SweepRecord((cell(noise="secure"),), "c"), None)


def test_a_delta_is_part_of_the_price() -> None:
    assert "ε = 1 at δ = 2e-06 if all" in printed(cell("a", 0.5, 1e-6), cell("b", 0.5, 1e-6))
    assert "no bound at this δ by private selection" in printed(cell("a", 20.0, 1e-6), cell("b", 20.0, 1e-6))


def test_what_leaks_is_said_once_with_its_reason_and_in_how_many_cells() -> None:
    leaking = [cell("fm", epsilon, leaks="bounds_from_data", leaks_why="bounds_from_data: they were read") for epsilon in (1, 2)]
    unproven = cell("odd", sound="false", leaks="unproven_noise", leaks_why="unproven_noise: no proof")
    for text in (printed(*leaking, unproven), note(SweepRecord((*leaking, unproven), "c"), None)):
        assert text.count("LEAKS in 2 cells: bounds_from_data: they were read.") == 1
        assert text.count("UNPROVEN in 1 cell: no proof.") == 1
    assert unproven.guarantee == "UNPROVEN"
    assert cell(sound="false", leaks="unproven_noise,bounds_from_data").guarantee == "UNPROVEN, LEAKS bounds_from_data"


def test_cells_are_ranked_at_their_accounted_epsilon() -> None:
    """A budget of ρ = 0.8 and one of ε = 0.8 are not the same: the one is worth 6.8 at δ = 1e-6."""
    dear = CellRecord("run", {**cell("irls").params}, cell().tags, {**cell().metrics, "privacy/epsilon_accounted": 6.827}, "rmse")
    text = note(SweepRecord((cell("fm", 0.8), dear), "c"), None)
    assert "linear on wine at ε = 0.8: fm is the only ranked cell" in text
    assert "linear on wine at ε = 6.827: irls is the only ranked cell" in text
