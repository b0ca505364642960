"""Bounds from the data are the ranges and levels of the rows, and a column that none suit is refused without a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.files.bounds_file import ColumnDeclaration
from dpbench.files.column_profiles import MAX_DRAFTED_LEVELS
from dpbench.files.data_bounds import bounds_from_data
from dpbench.files.table_files import open_table


def bounds_of(folder: Path, text: str, names: list[str], levels: dict[str, Any] | None = None) -> dict[str, ColumnDeclaration]:
    (folder / "t.csv").write_text(text)
    return bounds_from_data(open_table(str(folder / "t.csv")), names, levels or {})


def test_ranges_and_levels_are_those_of_the_rows(tmp_path: Path) -> None:
    bounds = bounds_of(tmp_path, "age,sex,kids\n17,f,0\n88.5,m,2\n,m,2\n", ["age", "sex"])
    assert bounds == {"age": ColumnDeclaration(17, 88.5), "sex": ColumnDeclaration(levels=("f", "m"))}


def test_a_missing_value_is_a_level_where_there_is_one_if_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("sex,town,job\nf,north,\nm,south,unknown\n,north,clerk\n")
    bounds = bounds_from_data(open_table(str(file)), ["sex", "town", "job"], {}, counts_missing=True)
    levels = {name: declaration.levels for name, declaration in bounds.items()}
    assert levels == {"sex": ("f", "m", "unknown"), "town": ("north", "south"), "job": ("clerk", "unknown")}


def test_declared_levels_win_also_for_numbers(tmp_path: Path) -> None:
    levels = {"sex": ["x", "m", "f"], "kids": [2, 0]}
    bounds = bounds_of(tmp_path, "sex,kids\nf,0\nm,2\n", ["sex", "kids"], levels)
    assert bounds == {"sex": ColumnDeclaration(levels=("x", "m", "f")), "kids": ColumnDeclaration(levels=("2", "0"))}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (["", "NA"], "The column 'x' of t.csv has no values."),
        (["Zq7", "Zq7"], "The column 'x' of t.csv has the same value in every row"),
        ([f"Zq7{row}" for row in range(MAX_DRAFTED_LEVELS + 1)], "The column 'x' of t.csv has more than 50 different texts"),
    ],
)
def test_a_column_without_bounds_of_use_is_refused(cells: list[str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refusal:
        bounds_of(tmp_path, "x,y\n" + "".join(f"{cell},{row}\n" for row, cell in enumerate(cells)), ["x"])
    assert str(refusal.value).startswith(reason)
    assert "Zq7" not in str(refusal.value)
