"""From a CSV or Parquet file to checked columns, in chunks. Errors name the column and the row, never a value.

Rows are numbered from 1, the header not counted.
"""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpbench.base.errors import Refused, unknown
from dpbench.files.values import NULLS, ColumnChunk, ColumnFormat, is_number

DELIMITERS = (",", ";", "\t", "|")
BLOCK = 8 << 20
BATCH_ROWS = 1 << 17


class File(ABC):
    """A table on disk: the names of its columns, and its rows in chunks."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.names = self._names()
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise Refused(f"The column names of {label} must differ. Got {twice[0]!r} more than once.")

    @abstractmethod
    def _names(self) -> tuple[str, ...]:
        """The names of the columns, in the file's order."""

    @abstractmethod
    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        """Arrow record batches with these columns."""

    def check(self, names: Iterable[str]) -> None:
        """Refuse a column that is not there, without showing a first row that holds data instead of names."""
        names = list(names)
        missing = [name for name in names if name not in self.names]
        if missing and len(missing) == len(names):
            listed = ", ".join(map(repr, missing))
            raise Refused(
                f"{self.label} has none of the columns {listed}. Its first row must hold the column names, "
                "parted by dataset.delimiter (a comma when nothing is said)."
            )
        if missing:
            raise unknown(f"column of {self.label}", missing[0], self.names)

    def read(self, wanted: Mapping[str, ColumnFormat], nulls: Iterable[str] = NULLS) -> dict[str, np.ndarray]:
        """The wanted columns: floats with NaN where a value is missing, or texts."""
        self.check(wanted)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in wanted}
        start = 0
        for chunk in self.chunks(list(wanted)):
            for name, how in wanted.items():
                parts[name].append(ColumnChunk(self.label, name, start, chunk.column(name), nulls).as_wanted(how))
            start += chunk.num_rows
        if not start:
            raise Refused(f"{self.label} has no row below its header.")
        return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def open_table(path: str, delimiter: str = ",") -> File:
    """The file at a path: Parquet by its suffix, anything else is CSV (also compressed: .gz, .bz2, .zst)."""
    place = Path(path).expanduser()
    if not place.is_file():
        raise Refused(f"There is no file {path!r}.")
    if place.suffix in (".parquet", ".pq"):
        return Parquet(place)

    def opened() -> Any:
        import pyarrow

        return pyarrow.input_stream(str(place), compression="detect")

    return Csv(place.name, opened, delimiter)


class Csv(File):
    """Rows of text, the names of the columns in the first one."""

    def __init__(self, label: str, opened: Callable[[], BinaryIO], delimiter: str = ",") -> None:
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise Refused(f"The delimiter of {label} must be one character. Got {delimiter!r} instead.")
        self._opened = opened
        self._delimiter = delimiter
        super().__init__(label)

    def _names(self) -> tuple[str, ...]:
        with self._refusing(), self._opened() as stream:
            # more than the header is decoded: what is wrong further down is found when that is read
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
            header = next(csv.reader(text, delimiter=self._delimiter), [])
            "".join(header).encode()
        if not header:
            raise Refused(f"{self.label} is empty.")
        others = [mark for mark in DELIMITERS if mark != self._delimiter and mark in header[0]]
        if len(header) == 1 and others:
            raise Refused(
                f"{self.label} has a single column when it is parted by {self._delimiter!r}, but its first row holds "
                f"{others[0]!r}: set dataset.delimiter."
            )
        if any(is_number(name) or not name.strip() for name in header):
            raise Refused(
                f"The first row of {self.label} must hold the names of all columns. Got an empty name or a number instead."
            )
        return tuple(name.strip() for name in header)

    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow
        from pyarrow import csv as reader

        broken: list[tuple[int, int, int]] = []

        def note(row: Any) -> str:
            broken.append((row.number, row.expected_columns, row.actual_columns))
            return "skip"

        options = {
            "read_options": reader.ReadOptions(use_threads=False, block_size=BLOCK, column_names=list(self.names), skip_rows=1),
            "parse_options": reader.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=note, ignore_empty_lines=True
            ),
            "convert_options": reader.ConvertOptions(
                include_columns=list(names), column_types={name: pyarrow.string() for name in names}, strings_can_be_null=False
            ),
        }
        with self._refusing(), self._opened() as stream:
            try:
                batches = reader.open_csv(stream, **options)
            except pyarrow.ArrowInvalid as error:
                if "Empty CSV" in str(error) or "Could not skip" in str(error):  # a header and nothing else
                    return
                raise
            for batch in batches:
                if broken:
                    break
                yield batch
        if broken:
            number, expected, got = broken[0]
            raise Refused(f"Row {number - 1} of {self.label} must have {expected} columns, as its header has. Got {got} instead.")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """What the readers say may quote a row, so it is not passed on."""
        import pyarrow

        try:
            yield
        except UnicodeEncodeError:
            raise Refused(f"{self.label} must be text in UTF-8. Its first row is not.") from None
        except pyarrow.ArrowInvalid as error:
            row = re.search(r"Row #(\d+)", str(error))
            where = f"Row {int(row[1]) - 1} is not." if row else "Got something else."
            raise Refused(f"{self.label} must be a table in UTF-8 text, one line a row. {where}") from None
        except (OSError, EOFError, csv.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise Refused(f"{self.label} cannot be read: {reason or 'it is truncated, or not what its name says'}.") from None


class Parquet(File):
    """Typed columns; texts among them are read as those of a CSV."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(path.name)

    def _names(self) -> tuple[str, ...]:
        with self._opened() as file:
            return tuple(file.schema_arrow.names)

    def chunks(self, names: Sequence[str]) -> Iterator[Any]:
        with self._opened() as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(names), use_threads=False)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(self._path) as file:
                yield file
        except (pyarrow.ArrowException, OSError):
            raise Refused(f"{self.label} is not a whole Parquet file.") from None
