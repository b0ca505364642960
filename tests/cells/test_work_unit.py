"""What travels between the parent process and its workers."""

from __future__ import annotations

import pickle

from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import Unit
from dpbench.data.splits import Splits


def test_a_unit_and_its_results_survive_the_way_to_another_process() -> None:
    choices = [ComponentChoice(name, options) for name, options in (("fm", {}), ("linear", {}), ("wine", {}), ("none", {}))]
    unit = Unit((Cell(*choices, Splits("kfold", 2, 2), Settings(), {}),), (0, 1))
    sent = pickle.loads(pickle.dumps(unit))
    assert sent == unit
    assert sent.cells[0].key == unit.cells[0].key
    (result,) = run_unit(sent)
    (received,) = pickle.loads(pickle.dumps([result]))
    assert received.key == unit.cells[0].key
    assert received.runs["repeat"].tolist() == [0, 0, 1, 1]


def test_a_result_holds_one_value_per_run_and_no_row() -> None:
    """No array is as long as the table."""
    choices = [ComponentChoice(name, {}) for name in ("fm", "linear", "wine", "none")]
    (result,) = run_unit(Unit((Cell(*choices, Splits("kfold", 2, 2), Settings(), {}),), (0, 1)))
    assert {len(values) for values in [*result.runs.values(), *result.curves.values(), *result.health.values()]} == {4}
