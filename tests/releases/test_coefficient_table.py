"""The coefficients of a release as numbers and as text."""

from __future__ import annotations

import pytest

from dpbench.data.table import Column
from dpbench.releases.coefficient_table import CoefficientTable

SCALED = {
    "intercept": {"estimate": 0.2, "standard_error": 0.05, "low": 0.1, "high": 0.3},
    "a": {"estimate": -1.0, "standard_error": 0.5, "low": -2.0, "high": 0.0},
    "town=north": {"estimate": 2.0, "standard_error": 0.5, "low": 1.0, "high": 3.0},
}
COLUMNS = (Column("a", 0, 4, "kg"), Column("town=north", 0, 1, group="town"))
OWN = {
    "a": {"estimate": -2.5, "standard_error": 1.25, "low": -5.0, "high": 0.0},
    "town=north": {"estimate": 10.0, "standard_error": 2.5, "low": 5.0, "high": 15.0},
}


@pytest.fixture
def table() -> CoefficientTable:
    return CoefficientTable(SCALED, OWN, 0.9, sentence="A sentence.")


def test_the_text_has_own_units_where_there_are_some(table: CoefficientTable) -> None:
    lines = table.lines(COLUMNS, Column("y", 0, 10, "€"), binary=False)
    assert [line.split("  ")[0].strip() for line in lines] == ["coefficient", "intercept", "a", "town=north"]
    assert "90 % interval" in lines[0]
    assert lines[1].endswith("scaled")
    assert [lines[2].split()[1:3], lines[2].split()[-3:]] == [["-2.5", "1.25"], ["€", "per", "kg"]]
    assert lines[3].endswith("5 to 15        €")


def test_the_only_number_of_a_coefficient_is_the_estimate_of_its_interval(table: CoefficientTable) -> None:
    lines = table.lines(COLUMNS, Column("y", 0, 10), binary=False)
    assert lines[0].split("  ")[1].strip() == "estimate"
    assert "weight" not in lines[0]
    assert lines[1].split()[1:4] == ["0.2", "0.05", "0.1"]


def test_a_binary_target_has_log_odds(table: CoefficientTable) -> None:
    lines = table.lines(COLUMNS, Column("y", 0, 1, kind="binary"), binary=True)
    assert lines[2].endswith("log odds per kg")
    assert lines[3].endswith("log odds")
