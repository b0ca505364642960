"""Cells are selected by their parameters and compared only at the same place."""

from __future__ import annotations

from dataclasses import replace

from made_cells import (
    AB,
    ALPHA,
    B,
    answer,
    cell,
    findings,
    level,
    pair,
    shaped,
)

from dpbench.experiments.checks.cell_selection import select_cells


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
