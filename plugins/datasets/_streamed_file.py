"""A CSV or Parquet file as a stream of chunks, parsed and checked as a file that is loaded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Table
from dpbench.data.table_stream import TableChunk, TableStream
from dpbench.files.bounds_file import ColumnDeclaration
from dpbench.files.data_bounds import constant
from dpbench.files.table_files import File, open_table

from ._declared_table import expanded

COPIES = 4
"""The parsed columns, the table, its scaled rows, and temporary arrays in between."""
BYTES_PER_TEXT = 6
"""A number in a CSV, with its comma."""
LARGEST_EXPANSION = 500
"""How much larger than its file a loaded table is, at most: where texts are compressed, or a column repeats itself."""


def loading_bytes(path: Path) -> int:
    """Return about how much memory a file takes when it is loaded: exactly known for Parquet, guessed from the size of others."""
    if path.suffix.lower() not in (".parquet", ".pq"):
        return 8 * COPIES * path.stat().st_size // BYTES_PER_TEXT
    file = open_table(str(path))
    return 8 * COPIES * len(file.names) * file.count_rows()


class StreamedFile(TableStream):
    """The rows of a file, chunk by chunk."""

    def __init__(self, file: File, columns: Mapping[str, ColumnDeclaration], target: str, head: Table) -> None:
        self.head = head
        self.rows = file.count_rows()
        self.starts = file.starts()
        if not self.rows:
            raise Refused(f"{file.label} has no row below its header.")
        self._file = file
        self._columns = columns
        self._target = target
        self._formats: dict[str, ColumnFormat] = {name: column.format for name, column in columns.items()}

    def chunks(self, first: int, last: int, size: int) -> Iterator[TableChunk]:
        for parts in self._file.chunks_between(list(self._columns), first, last, size):
            values = {name: parts[name].values(self._formats[name]) for name in self._columns}
            low, high = (np.array([edge(column) for column in values.values()]) for edge in (np.min, np.max))
            if np.isnan(low).any():  # a missing value, which the smallest of them shows
                self._refuse_missing(values, next(iter(parts.values())).start)
            names = (name for name in self._columns if name != self._target)
            features = [column for name in names for column in expanded(self._columns[name], values[name])]
            yield TableChunk(features, values[self._target], low, high)

    def check_ranges(self, low: np.ndarray, high: np.ndarray) -> None:
        for (name, declaration), *ends in zip(self._columns.items(), low, high, strict=True):
            clipped = ends if declaration.levels else np.clip(ends, declaration.low, declaration.high)
            if clipped[0] == clipped[1]:
                raise constant(self._file, name)

    def _refuse_missing(self, values: Mapping[str, np.ndarray], start: int) -> None:
        name = next(name for name, column in values.items() if np.isnan(column).any())
        row = start + int(np.isnan(values[name]).argmax()) + 1
        raise Refused(
            f"{self._file.label} has missing values, one of them in column {name!r}, row {row}. "
            "`missing: VALUE` among a column's bounds replaces them; a streamed table cannot leave rows out."
        )
