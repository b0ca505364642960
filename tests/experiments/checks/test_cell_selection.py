"""Cells are selected by their parameters and compared only at the same place."""

from __future__ import annotations

from dataclasses import replace

from cell_factory import unbudgeted
from made_cells import (
    AB,
    ALPHA,
    B,
    answer,
    at_epsilons,
    cell,
    findings,
    level,
    pair,
    shaped,
)

from dpbench.experiments.checks.cell_selection import select_cells
from dpbench.records.cell_record import CellRecord


def test_cells_are_compared_at_the_same_place_only() -> None:
    rows = [cell("a", level(0.1), dataset="wine"), cell("b", level(0.2), dataset="adult")]
    assert findings("below", AB, rows) == []


def test_another_mechanisms_options_are_no_place() -> None:
    rows = [cell("a", level(0.1), mechanism__alpha="opt"), cell("b", level(0.2), mechanism__ridge="4")]
    assert answer("below", AB, rows) is True


def test_options_are_a_place_where_one_of_them_is_compared() -> None:
    rows = [
        cell("a", level(i), mechanism__x=x, mechanism__y=y)
        for x, y, i in (("1", "1", 1), ("1", "2", 2), ("2", "1", 3), ("2", "2", 4))
    ]
    found = findings("below", {"cells": {"mechanism.x": 1}, "against": {"mechanism.x": 2}}, rows)
    assert [finding.cells for finding in found] == [(rows[0], rows[2]), (rows[1], rows[3])]


def test_models_can_be_compared() -> None:
    rows = [cell("a", level(0.1), model="linear"), cell("a", level(0.2), model="ridge")]
    found = findings("below", {"cells": {"model": "linear"}, "against": {"model": "ridge"}}, rows)
    assert found[0].holds is True
    assert found[0].compared == "a linear against a ridge"
    assert found[0].place == "wine, ε = 1"


def test_an_option_that_was_not_swept_is_read_from_the_configuration() -> None:
    rows = pair(level(0.1), level(0.2))
    config = {"mechanism": {"name": "a", "alpha": "opt"}}
    rows[0] = replace(rows[0], detail=replace(rows[0].detail, config=config))
    assert answer("below", {"cells": {"mechanism.alpha": "opt"}, "against": B}, rows) is True
    assert findings("below", {"cells": {"mechanism.alpha": "paper"}, "against": B}, rows) == []


def test_a_value_is_the_same_however_it_is_written() -> None:
    rows = [cell("a", level(1), epsilon="1.0"), cell("a", level(1), epsilon="0.1")]
    assert len(findings("skewed", {"cells": {"epsilon": 1}}, rows)) == 1
    assert len(findings("skewed", {"cells": {"epsilon": ">= 0.5"}}, rows)) == 1
    assert len(findings("skewed", {"cells": {"epsilon": [0.1, 1]}}, rows)) == 2


def test_a_texts_alpha_is_no_point_of_a_curve() -> None:
    rows = [*shaped(0.3, 0.1, 0.3), cell("a", level(9), mechanism__alpha="paper")]
    assert answer("u_shape", ALPHA, rows) is True


def test_cells_are_picked_by_their_metrics_too() -> None:
    floored = {"health/interval_floored": 0.5}
    rows = [cell("a", level(1)), cell("b", level(1), more=floored), cell("c", level(1), more={"health/interval_floored": 0.0})]

    def names(wanted: object) -> list[str]:
        return [row.params["mechanism"] for row in select_cells(rows, {"health/interval_floored": wanted})]

    assert names("< 0.05") == ["c"]
    assert names(">= 0.05") == ["b"]
    assert names(["< 0.05", None]) == ["a", "c"], "no such metric"
    assert [row.params["mechanism"] for row in select_cells(rows, {"utility/rmse": "> 0.5"})] == ["a", "b", "c"]


def free(mechanism: str, value: float) -> CellRecord:
    """A cell of a mechanism that uses no budget."""
    return unbudgeted(replace(cell(mechanism, level(value)), run_id=mechanism))


def test_a_cell_without_a_budget_is_compared_at_every_epsilon() -> None:
    rows = [*at_epsilons(level(0.1), level(0.2), level(0.3)), free("b", 0.5)]
    found = findings("below", AB, rows)
    assert [finding.place for finding in found] == [f"linear on wine, ε = {epsilon}" for epsilon in ("0.1", "1", "10")]
    other_way = findings("above", {"cells": B, "against": {"mechanism": "a"}}, rows)
    assert [finding.place for finding in other_way] == [finding.place for finding in found]
    (there,) = findings("below", {"cells": {"epsilon": 1}, "against": B}, rows)
    assert there.cells[0] is rows[1]


def test_two_cells_without_a_budget_are_compared_once_and_their_place_has_no_epsilon() -> None:
    rows = [*at_epsilons(level(0.1), level(0.2), mechanism="c"), free("a", 0.1), free("b", 0.5)]
    (found,) = findings("below", AB, rows)
    assert (found.place, found.holds) == ("linear on wine", True)
    (alone,) = findings("skewed", {"cells": {"mechanism": "b"}}, rows)
    assert alone.place == "linear on wine"


def test_a_selection_of_one_epsilon_finds_a_cell_without_a_budget() -> None:
    rows = [cell("a", level(0.1), epsilon="0.1"), free("b", 0.5)]
    assert select_cells(rows, {"epsilon": ">= 0.8"}) == [rows[1]]
    assert select_cells(rows, {"epsilon": 0.1}) == rows


def test_along_epsilon_a_cell_without_a_budget_is_level_where_it_is_compared_and_no_curve_alone() -> None:
    rows = [*at_epsilons(level(0.9), level(0.5), level(0.1)), free("b", 0.5)]
    assert findings("stable", {"cells": B, "along": "epsilon"}, rows) == []
    (found,) = findings("widens", {**AB, "along": "epsilon"}, rows)
    assert [row.params["epsilon"] for row in found.cells] == ["0.1", "1", "10"] * 2
    assert found.holds is True


def test_what_lies_between_two_others_may_use_no_budget() -> None:
    rows = [cell("a", level(0.1)), free("b", 0.5), cell("c", level(0.9))]
    (found,) = findings("between", {"cells": B, "over": {"mechanism": "a"}, "under": {"mechanism": "c"}}, rows)
    assert found.holds is True
