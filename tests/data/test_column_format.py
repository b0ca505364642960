"""The two formats that need no declaration."""

from __future__ import annotations

from dpbench.data.column_format import NUMBER, TEXT, ColumnFormat


def test_cells_are_numbers_unless_they_are_declared_to_be_something_else() -> None:
    assert ColumnFormat() == NUMBER
    assert (TEXT.text, TEXT.levels, TEXT.missing) == (True, (), "")
