"""Excel files (.xlsx): the first sheet, whose first row contains the names of the columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.dialects import Dialect
from dpbench.files.python_cells import arrow_column
from dpbench.files.table_files import Csv

INSTALL = "pip install 'dp-regression-bench[excel]' (openpyxl)"
ERROR_CELLS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
"""What a formula that failed shows: it is no value, so it counts as missing."""


class Excel(Csv):
    """The first sheet of an Excel file, as it was computed when the file was saved; its header is read like that of a CSV."""

    def __init__(self, path: Path, label: str, dialect: Dialect, option: str) -> None:
        self._rows = _read_sheet(path, label)
        super().__init__(label, lambda: path.open("rb"), dialect, option)

    def _detected_encoding(self) -> str:
        return ""

    def _first_rows(self) -> tuple[list[str], list[str]]:
        header, second = (["" if cell is None else str(cell) for cell in row] for row in [*self._rows, [], []][:2])
        return header, second

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow

        rows = self._rows[int(self.dialect.header) :]
        columns = {}
        for name in names:
            position = self.names.index(name)
            columns[name] = arrow_column([row[position] if position < len(row) else None for row in rows])
        if rows:
            yield pyarrow.RecordBatch.from_pydict(columns)


def _read_sheet(path: Path, label: str) -> list[list[Any]]:
    """Return the rows of the first sheet as wide as its widest row, without empty rows at the end."""
    try:
        import openpyxl
    except ImportError:
        raise Refused(f"Reading {label} needs openpyxl, which is not installed: {INSTALL}. Or save the sheet as CSV.") from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [[None if cell in ERROR_CELLS else cell for cell in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception:  # noqa: BLE001  it may be any error of a parser, whose message may quote a cell
        raise Refused(f"{label} cannot be read: it is not what its name says, or it is protected.") from None
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    return rows
