"""The decision table as data: every row, the picked ones with the command that releases them."""

from __future__ import annotations

from dataclasses import replace

from cell_factory import make_sweep
from report_helpers import person_cell

from dpbench.report.decision_table import decision_table
from dpbench.report.summary import SweepSummary


def test_every_row_is_there_and_the_picked_one_has_its_command() -> None:
    errors = {1: 0.3, 2: 0.13, 4: 0.11}
    cells = [replace(person_cell("fm", error, epsilon), key=f"key {epsilon}") for epsilon, error in errors.items()]
    table = decision_table(SweepSummary(make_sweep(cells), command_of=lambda cell: f"release {cell.key}"))
    place = {name: table.header.index(name) for name in ("epsilon accounted", "best", "pick", "release")}
    rows = [[row[at] for at in place.values()] for row in table.rows]
    assert rows == [[1.0, "fm", "", ""], [2.0, "fm", "yes", "release key 2"], [4.0, "fm", "", ""]]


def test_the_share_of_failed_runs_has_a_column() -> None:
    table = decision_table(SweepSummary(make_sweep([person_cell("fm", 0.3, metrics={"utility/failed_share": 0.02})])))
    assert table.rows[0][table.header.index("failed share")] == 0.02
