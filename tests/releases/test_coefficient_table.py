"""The coefficients of a release as numbers and as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpbench.data.table import Column
from dpbench.releases.coefficient_table import CoefficientTable

SCALED = {
    "intercept": {"weight": 0.1, "estimate": 0.2, "standard_error": 0.05, "low": 0.1, "high": 0.3},
    "a": {"weight": -1.0, "estimate": -1.0, "standard_error": 0.5, "low": -2.0, "high": 0.0},
    "town=north": {"weight": 2.0, "estimate": 2.0, "standard_error": 0.5, "low": 1.0, "high": 3.0},
}
COLUMNS = (Column("a", 0, 4, "kg"), Column("town=north", 0, 1, group="town"))
OWN = {
    "a": {"weight": -2.5, "estimate": -2.5, "standard_error": 1.25, "low": -5.0, "high": 0.0},
    "town=north": {"weight": 10.0, "estimate": 10.0, "standard_error": 2.5, "low": 5.0, "high": 15.0},
}


@pytest.fixture
def table() -> CoefficientTable:
    return CoefficientTable(SCALED, OWN, 0.9, centred_on_weights=True, sentence="A sentence.")


def test_the_text_has_own_units_where_there_are_some(table: CoefficientTable) -> None:
    lines = table.lines(COLUMNS, Column("y", 0, 10, "€"), binary=False)
    assert [line.split("  ")[0].strip() for line in lines] == ["coefficient", "intercept", "a", "town=north"]
    assert "90 % interval" in lines[0]
    assert lines[1].endswith("scaled")
    assert [lines[2].split()[1:3], lines[2].split()[-3:]] == [["-2.5", "1.25"], ["€", "per", "kg"]]
    assert lines[3].endswith("5 to 15        €")


def test_estimates_are_printed_where_they_are_not_the_weights(table: CoefficientTable) -> None:
    target = Column("y", 0, 10)
    assert "estimate" not in table.lines(COLUMNS, target, binary=False)[0]
    lines = replace(table, centred_on_weights=False).lines(COLUMNS, target, binary=False)
    assert "estimate" in lines[0]
    assert lines[1].split()[1:4] == ["0.1", "0.2", "0.05"]


def test_a_binary_target_has_log_odds(table: CoefficientTable) -> None:
    lines = table.lines(COLUMNS, Column("y", 0, 1, kind="binary"), binary=True)
    assert lines[2].endswith("log odds per kg")
    assert lines[3].endswith("log odds")
