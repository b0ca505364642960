"""A new row needs one cell for each attribute."""

from __future__ import annotations

from collections.abc import Callable

from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column
from dpbench.releases.release_file import Release
from dpbench.releases.release_inputs import inputs_of


def test_an_attribute_with_levels_is_one_input(wages: Callable[..., Release]) -> None:
    age, town = inputs_of(wages())
    assert (age.name, age.levels, age.is_text) == ("age", (), False)
    assert (town.name, town.levels, town.is_text) == ("town", ("north", "south", "the west"), True)
    assert [town.level_of(column) for column in town.columns] == list(town.levels)


def test_the_inputs_are_all_that_a_prediction_needs(wages: Callable[..., Release]) -> None:
    released = wages()
    row = {each.name: [each.levels[0] if each.levels else each.columns[0].low] for each in inputs_of(released)}
    assert released.predict(row).shape == (1,)


def test_a_level_without_a_column_is_an_input_nevertheless(wages: Callable[..., Release]) -> None:
    """One column fewer than levels, as tables have it that drop the first one."""
    columns = tuple(column for column in wages().columns if column.name != "town=north")
    _, town = inputs_of(wages(columns=columns))
    assert town.levels == ("north", "south", "the west")
    assert [column.name for column in town.columns] == ["town=south", "town=the west"]


def test_one_hot_columns_of_other_names_are_inputs_themselves(wages: Callable[..., Release]) -> None:
    columns = (Column("town_1", 0, 1, group="town"), Column("town_2", 0, 1, group="town"))
    assert [each.name for each in inputs_of(wages(columns=columns, formats={}))] == ["town_1", "town_2"]


def test_a_date_is_a_text(wages: Callable[..., Release]) -> None:
    (hired,) = inputs_of(wages(columns=(Column("hired", 1990, 2030),), formats={"hired": ColumnFormat(part="year")}))
    assert hired.is_text
    assert not hired.levels
