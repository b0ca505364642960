"""Declarations of columns become the columns of a table: one for each level, and a target with bounds or two levels."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.table import Table
from dpbench.files.bounds_file import parse_bounds


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return importlib.import_module("dpbench.plugins.datasets._declared_table")


@pytest.fixture
def table(module: ModuleType) -> Any:
    """Makes the table of three rows that a user's declarations describe."""

    def made(target: str, **declared: Any) -> Table:
        bounds = parse_bounds(declared, "dataset.bounds")
        columns = bounds.columns
        values = {name: np.arange(3.0) % max(2, len(column.levels)) for name, column in columns.items()}
        design = [array for name in columns if name != target for array in module.expanded(columns[name], values[name])]
        result: Table = module.declared_table(columns, target, bounds, ("-9",), np.column_stack(design), values[target])
        return result

    return made


def test_a_column_with_levels_becomes_one_column_per_level(table: Any) -> None:
    made = table("pay", age=[0, 90], job={"levels": ["a", "b", "c"]}, pay=[0, 100])
    assert (made.columns[0].name, made.columns[0].group) == ("age", None)
    assert {column.group for column in made.columns[1:]} == {"job"}
    np.testing.assert_array_equal(made.features[:, 1:], np.eye(3))


def test_a_target_with_two_levels_is_0_or_1(table: Any) -> None:
    made = table("pay", age=[0, 90], pay={"levels": ["low", "high"]})
    assert (made.target.low, made.target.high, made.threshold, made.target.meaning) == (0, 1, 0.5, "1 = high")


def test_a_target_with_three_levels_is_refused(table: Any) -> None:
    with pytest.raises(Refused, match=r"must have bounds or two levels\. Got 3 levels instead"):
        table("pay", age=[0, 90], pay={"levels": ["low", "middle", "high"]})


def test_codes_for_a_missing_value_of_the_file_hold_for_every_column(table: Any) -> None:
    assert table("pay", age=[0, 90], pay=[0, 100]).formats["age"].nulls[:1] == ("-9",)
