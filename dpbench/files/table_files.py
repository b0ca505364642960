"""CSV and Parquet files, read into checked columns batch by batch. Errors name the column and the row, never a value.

Rows are numbered from 1, without the header.
"""

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpbench.base.errors import Refused, check_known, refuse_on
from dpbench.files.codebook import codebook_of
from dpbench.files.values import NULLS, ColumnChunk, ColumnFormat, is_number

DELIMITERS = (",", ";", "\t", "|")
BLOCK_BYTES = 8 << 20
BATCH_ROWS = 1 << 17


class File(ABC):
    """A table on disk: the names of its columns, and its rows in batches."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.names = self._names()
        if repeated := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise Refused(f"The column names of {label} must differ. Got {repeated[0]!r} more than once.")

    @abstractmethod
    def _names(self) -> tuple[str, ...]:
        """Return the names of the columns, in the file's order."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield Arrow record batches with these columns."""

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse columns that do not exist, without showing a first row that may hold data instead of names."""
        names = list(names)
        if names and not set(names) & set(self.names):
            raise Refused(
                f"{self.label} has none of the columns {', '.join(map(repr, names))}. The first row must contain the column "
                "names, separated by dataset.delimiter (default: comma)."
            )
        check_known(f"column of {self.label}", names, self.names)

    def read(self, formats: Mapping[str, ColumnFormat], nulls: Iterable[str] = NULLS) -> dict[str, np.ndarray]:
        """Read columns: as floats with NaN where a value is missing, or as texts."""
        self.check_columns(formats)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in formats}
        start = 0
        for batch in self.batches(list(formats)):
            for name, column_format in formats.items():
                parts[name].append(
                    ColumnChunk(self.label, name, start, batch.column(name), (*nulls, *column_format.nulls)).values(column_format)
                )
            start += batch.num_rows
        if not start:
            raise Refused(f"{self.label} has no row below its header.")
        return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def open_table(path: str, delimiter: str = ",") -> File:
    """Open the file at a path: Parquet or a codebook by its suffix, otherwise CSV, which may be compressed (.gz, .bz2, .zst)."""
    if codebook := codebook_of(path):
        from dpbench.files.extracts import Extract

        return Extract(codebook)
    file = Path(path).expanduser()
    if not file.is_file():
        raise Refused(f"There is no file {path!r}.")
    if file.suffix in (".parquet", ".pq"):
        return Parquet(file)
    import pyarrow

    return Csv(file.name, lambda: pyarrow.input_stream(str(file), compression="detect"), delimiter)


class Csv(File):
    """A file of text rows; the first row contains the names of the columns."""

    def __init__(self, label: str, open_stream: Callable[[], BinaryIO], delimiter: str = ",") -> None:
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise Refused(f"The delimiter of {label} must be one character. Got {delimiter!r} instead.")
        self._open_stream = open_stream
        self._delimiter = delimiter
        super().__init__(label)

    def _names(self) -> tuple[str, ...]:
        with self._readable(), self._open_stream() as stream:
            # the decoder reads on behind the header; bytes that are wrong there are reported when their rows are read
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
            header = next(csv.reader(text, delimiter=self._delimiter), [])
            "".join(header).encode()
        if not header:
            raise Refused(f"{self.label} is empty.")
        others = [delimiter for delimiter in DELIMITERS if delimiter != self._delimiter and delimiter in header[0]]
        if len(header) == 1 and others:
            raise Refused(f"{self.label} has no {self._delimiter!r} in its first row, but {others[0]!r}: set dataset.delimiter.")
        if any(is_number(name) or not name.strip() for name in header):
            raise Refused(f"The first row of {self.label} must name every column. Got an empty name or a number instead.")
        return tuple(name.strip() for name in header)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow
        from pyarrow import csv as reader

        broken: list[Any] = []

        def skip(row: Any) -> str:
            broken.append(row)
            return "skip"

        types = {name: pyarrow.string() for name in names}
        read = reader.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=list(self.names), skip_rows=1)
        parse = reader.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=skip)
        convert = reader.ConvertOptions(include_columns=list(names), column_types=types, strings_can_be_null=False)
        with self._readable(), self._open_stream() as stream:
            for batch in reader.open_csv(stream, read, parse, convert):
                if broken:
                    break
                yield batch
        if broken:
            row = broken[0]
            raise Refused(
                f"Row {row.number - 1} of {self.label} must have {row.expected_columns} columns, as its header has. "
                f"Got {row.actual_columns} instead."
            )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Refuse a file that cannot be read. The readers' own messages may quote a row, so they are not passed on."""
        import pyarrow

        try:
            yield
        except UnicodeEncodeError:
            raise Refused(f"{self.label} must be text in UTF-8. Its first row is not.") from None
        except pyarrow.ArrowInvalid as error:
            if "Empty CSV" in str(error) or "Could not skip" in str(error):  # the file has a header only
                return
            row = re.search(r"Row #(\d+)", str(error))
            where = f"Row {int(row[1]) - 1} is not." if row else "Got something else."
            raise Refused(f"{self.label} must be a table in UTF-8 text, one line per row. {where}") from None
        except (OSError, EOFError, csv.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise Refused(f"{self.label} cannot be read: {reason or 'it is truncated, or not what its name says'}.") from None


class Parquet(File):
    """A file of typed columns; its texts are read like those of a CSV file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(path.name)

    def _names(self) -> tuple[str, ...]:
        with self._open() as file:
            return tuple(file.schema_arrow.names)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        with self._open() as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(names), use_threads=False)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow
        from pyarrow import parquet

        sentence = f"{self.label} is not a whole Parquet file."
        with refuse_on((pyarrow.ArrowException, OSError), sentence), parquet.ParquetFile(self._path) as file:
            yield file
