"""Parquet files: tables of typed columns in row groups, where reading can begin at each of them."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from dpbench.base.errors import refuse_on
from dpbench.files.dialects import Dialect
from dpbench.files.table_files import File

MAX_BATCH_ROWS = 1 << 17
MAX_BATCH_VALUES = 1 << 23
READ_BUFFER_BYTES = 1 << 20


class Parquet(File):
    """A file of typed columns; its texts are read like those of a CSV file."""

    def __init__(self, path: Path, label: str, dialect: Dialect, option: str) -> None:
        self._path = path
        super().__init__(label, dialect, option)

    def _names(self) -> tuple[str, ...]:
        with self._open() as file:
            return tuple(file.schema_arrow.names)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        return (batch for _, batch in self.batches_from(names, 0))

    def batches_from(self, names: Sequence[str], first: int) -> Iterator[tuple[int, Any]]:
        with self._open() as file:
            starts = _starts_of_groups(file)
            group = bisect_right(starts[1:], first)  # the row group that holds the first row
            groups, start = list(range(group, len(starts) - 1)), starts[group]
            if not groups:
                return
            size = max(min(MAX_BATCH_ROWS, MAX_BATCH_VALUES // max(len(names), 1)), 1)
            for batch in file.iter_batches(batch_size=size, row_groups=groups, columns=list(names), use_threads=False):
                yield start, batch
                start += batch.num_rows

    def starts(self) -> list[int]:
        with self._open() as file:
            return _starts_of_groups(file)[:-1]

    def count_rows(self) -> int:
        with self._open() as file:
            return int(file.metadata.num_rows)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        sentence = f"{self.label} is not a whole Parquet file."
        # through a buffer, because otherwise the columns of a whole row group are in memory at once
        reading = {"pre_buffer": False, "buffer_size": READ_BUFFER_BYTES}
        with refuse_on((pyarrow.ArrowException, OSError), sentence), parquet.ParquetFile(self._path, **reading) as file:
            yield file


def _starts_of_groups(file: Any) -> list[int]:
    """Return the number of the first row of each row group of a Parquet file, and last the number of rows."""
    sizes = (file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups))
    return list(accumulate(sizes, initial=0))
