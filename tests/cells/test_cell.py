"""A cell's key, and what two cells must have in common to share a work unit or a fit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.cells.cell import Cell, ComponentChoice, Settings, digest
from dpbench.data.splits import Splits


@pytest.fixture
def cell() -> Cell:
    choices = [ComponentChoice(name, {}) for name in ("fm", "linear", "wine", "none")]
    return Cell(*choices, Splits("kfold", 2, 2), Settings(epsilon=0.8), {"data": "1"})


def changed(cell: Cell, **changes: Any) -> Cell:
    return Cell(**{**{name: getattr(cell, name) for name in cell.__dataclass_fields__}, **changes})


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}) == digest({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.5})
    with pytest.raises(ValueError, match="JSON"):
        digest({"a": math.nan})


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None, True])
def test_settings_refuse_what_is_no_budget(epsilon: Any) -> None:
    with pytest.raises(Refused, match="The 'epsilon' option of the command must be a float"):
        Settings(epsilon=epsilon)


def test_cells_share_a_unit_when_they_share_rows_splits_and_model(cell: Cell) -> None:
    assert changed(cell, mechanism=ComponentChoice("dpba", {})).shared == cell.shared
    assert changed(cell, attack=ComponentChoice("membership", {})).shared == cell.shared
    assert changed(cell, settings=Settings(epsilon=5.0)).shared == cell.shared
    for change in (
        {"model": ComponentChoice("ridge", {})},
        {"dataset": ComponentChoice("wine", {"color": "red"})},
        {"splits": Splits("kfold", 2, 3)},
        {"settings": Settings(epsilon=0.8, seed=1)},
        {"versions": {"data": "2"}},
    ):
        assert changed(cell, **change).shared != cell.shared, change
        assert changed(cell, **change).key != cell.key, change


def test_cells_share_a_fit_when_only_the_attack_differs(cell: Cell) -> None:
    assert changed(cell, attack=ComponentChoice("membership", {})).fit == cell.fit
    for change in (
        {"mechanism": ComponentChoice("fm", {"ridge": 2})},
        {"settings": Settings(epsilon=5.0)},
        {"settings": Settings(epsilon=0.8, budget="matched")},
        {"versions": {"data": "1", "mechanism": "2"}},
    ):
        assert changed(cell, **change).fit != cell.fit, change


def test_a_cell_builds_its_components_with_their_options(cell: Cell) -> None:
    red = changed(cell, dataset=ComponentChoice("wine", {"color": "red"})).build("dataset")
    assert (red.name, red.color) == ("wine", "red")


def test_a_flag_that_is_off_is_no_part_of_the_key(cell: Cell) -> None:
    """Cells that were recorded before the flag existed are still found."""
    assert "clipped" not in cell.config
    assert changed(cell, settings=Settings(epsilon=0.8, clipped=True)).config["clipped"] is True
    assert changed(cell, settings=Settings(epsilon=0.8, clipped=True)).key != cell.key
    assert (Settings().flags, Settings(clipped=True).flags) == (frozenset(), {"clipped"})


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_a_flag_is_true_or_false(value: Any) -> None:
    with pytest.raises(Refused, match="The 'clipped' option of the command must be"):
        Settings(clipped=value)


def test_a_cell_without_a_budget_is_the_same_under_every_one(cell: Cell) -> None:
    budgets = [Settings(0.1), Settings(3.2, 1e-5, "matched")]
    free = [changed(cell, settings=budget.without_budget(), budgeted=False) for budget in budgets]
    assert free[0].key == free[1].key
    assert free[0].fit == free[1].fit
    assert not {"epsilon", "delta", "budget", "accounting"} & free[0].config.keys()
    assert free[0].config.keys() < cell.config.keys()
    assert changed(cell, settings=Settings(0.1, seed=1).without_budget(), budgeted=False).key != free[0].key
