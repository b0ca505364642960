"""The first sheet of an Excel file is read like a CSV; what is no Excel file is refused without quoting a cell."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.column_format import NUMBER, ColumnFormat
from dpbench.files.dialects import Dialect
from dpbench.files.table_files import open_table

ROWS = [
    ["age", "sex", "day", None],
    [30, "f", datetime(2024, 2, 29), None],
    [41.5, "m", datetime(2025, 1, 1), None],
    ["#N/A", "f", None, None],
    [None, None, None, None],
]


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    openpyxl = pytest.importorskip("openpyxl")
    book: Any = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.create_sheet("notes").append(["Zq7Secret"])
    book.save(tmp_path / "people.xlsx")
    return str(tmp_path / "people.xlsx")


def test_numbers_texts_and_dates_are_read_and_empty_rows_and_columns_left_out(sheet: str) -> None:
    file = open_table(sheet)
    assert file.names == ("age", "sex", "day", "column_4")
    assert file.unnamed == {"column_4"}
    columns = file.read({"age": NUMBER, "sex": ColumnFormat(("f", "m")), "day": ColumnFormat(part="year")})
    np.testing.assert_array_equal(columns["age"], [30, 41.5, np.nan])
    np.testing.assert_array_equal(columns["sex"], [0, 1, 0])
    np.testing.assert_array_equal(columns["day"], [2024, 2025, np.nan])


def test_a_sheet_may_have_no_header(sheet: str) -> None:
    assert open_table(sheet, Dialect(header=False)).names == ("column_1", "column_2", "column_3", "column_4")


def test_another_file_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    (tmp_path / "people.xlsx").write_text("Zq7Secret")
    with pytest.raises(Refused, match=r"^people\.xlsx cannot be read: it is not what its name says, or it is protected\.$"):
        open_table(str(tmp_path / "people.xlsx"))
