"""CSV and Parquet files, read into checked columns batch by batch. Errors name the column and the row, never a value.

Rows are numbered from 1, without the header.
"""

import codecs
import csv
import io
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpbench.base.errors import Refused, check_known
from dpbench.data.column_format import ColumnFormat
from dpbench.files.cells import is_number
from dpbench.files.codebook import codebook_of
from dpbench.files.dialects import DELIMITERS, USUAL_DIALECT, Dialect
from dpbench.files.user_files import regular_file
from dpbench.files.values import ColumnChunk

BLOCK_BYTES = 8 << 20
BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


class File(ABC):
    """A table on disk: the names of its columns, and its rows in batches."""

    unnamed: frozenset[str] = frozenset()
    """Columns to which the header gives no name; they are called column_1, column_2, … by their position."""

    def __init__(self, label: str, dialect: Dialect, option: str = "dataset.") -> None:
        self.label = label
        self.dialect = dialect
        self._option = option
        """What precedes the names of the options that choose the dialect, in hints."""
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
        names = list(dict.fromkeys(names))
        if names and not set(names) & set(self.names):
            raise Refused(
                f"{self.label} has none of the columns {', '.join(map(repr, names))}. The first row must contain the column "
                f"names, separated by {self._option}delimiter (default: comma)."
            )
        check_known(f"column of {self.label}", names, self.names)

    def batches_from(self, names: Sequence[str], first: int) -> Iterator[tuple[int, Any]]:
        """Yield record batches with the number of rows before each; those that end before row ``first`` may be left out."""
        start = 0
        for batch in self.batches(names):
            yield start, batch
            start += batch.num_rows

    def starts(self) -> list[int]:
        """Return the numbers of the rows at which reading can begin without a pass over the rows before."""
        return [0]

    def count_rows(self) -> int:
        """Return the number of rows: by reading them, unless the file says how many it has."""
        return sum(batch.num_rows for batch in self.batches(self.names[:1]))

    def chunks(self, names: Sequence[str]) -> Iterator[dict[str, ColumnChunk]]:
        """Yield these columns chunk by chunk."""
        empty = True
        for chunk in self.chunks_between(names, 0, None):
            yield chunk
            empty = False
        if empty:
            raise Refused(f"{self.label} has no row below its header.")

    def chunks_between(
        self, names: Sequence[str], first: int, last: int | None, most: int | None = None
    ) -> Iterator[dict[str, ColumnChunk]]:
        """Yield rows ``first`` to ``last`` (not included; None: to the end) of these columns, at most ``most`` at a time."""
        signs = {name: set[str]() for name in names}
        for start, batch in self.batches_from(names, first):
            if last is not None and start >= last:
                return
            begin, end = max(first - start, 0), min(batch.num_rows, sys.maxsize if last is None else last - start)
            for at in range(begin, end, most or max(end, 1)):
                part, before = batch.slice(at, min(end - at, most or end)), start + at
                yield {
                    name: ColumnChunk(self.label, name, before, part.column(name), self.dialect, signs[name]) for name in names
                }

    def read(self, formats: Mapping[str, ColumnFormat]) -> dict[str, np.ndarray]:
        """Read columns: as floats with NaN where a value is missing, or as texts."""
        self.check_columns(formats)
        parts: dict[str, list[np.ndarray]] = {name: [] for name in formats}
        for chunks in self.chunks(list(formats)):
            for name, column_format in formats.items():
                parts[name].append(chunks[name].values(column_format))
        return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def open_table(path: str, dialect: Dialect = USUAL_DIALECT, option: str = "dataset.", label: str = "") -> File:
    """Open the file at a path: Parquet, Excel or a codebook by its suffix, otherwise CSV, also compressed (.gz, .bz2, .zst)."""
    file = regular_file(path)
    if codebook := codebook_of(path):
        from dpbench.files.extracts import Extract

        return Extract(codebook, dialect)
    suffix = file.suffix.lower()
    if suffix in (".parquet", ".pq"):
        from dpbench.files.parquet_files import Parquet

        return Parquet(file, label or file.name, dialect, option)
    if suffix in (".xlsx", ".xlsm"):
        from dpbench.files.excel_files import Excel

        return Excel(file, file.name, dialect, option)
    if suffix in (".xls", ".ods", ".feather", ".dta", ".sav", ".sas7bdat", ".json", ".h5"):
        raise Refused(f"{file.name} must be a CSV, Parquet or .xlsx file. Got {suffix} instead: save it as one of these.")
    return Csv(file.name, lambda: open_bytes(file), dialect, option)


def open_bytes(file: Path) -> Any:
    """Open a file that may be compressed."""
    import pyarrow

    return pyarrow.input_stream(str(file), compression="detect")


class Csv(File):
    """A file of text rows; the first row contains the names of the columns, unless the dialect says otherwise."""

    def __init__(
        self, label: str, open_stream: Callable[[], BinaryIO], dialect: Dialect = USUAL_DIALECT, option: str = "dataset."
    ) -> None:
        self._open_stream = open_stream
        super().__init__(label, dialect, option)

    def _names(self) -> tuple[str, ...]:
        delimiter = self.dialect.delimiter
        with self._readable():
            self._encoding = self._detected_encoding()
            header, second = self._first_rows()
        if not header:
            raise Refused(f"{self.label} is empty.")
        others = [other for other in DELIMITERS if other != delimiter and other in header[0]]
        if len(header) == 1 and others:
            key = f"{self._option}delimiter{'=' if self._option != '--' else ' '}"
            value = "tab" if others[0] == "\t" else f"'{others[0]}'"
            raise Refused(f"{self.label} has no {delimiter!r} in its first row, but {others[0]!r}: set {key}{value}.")
        if not self.dialect.header:
            return self._named([""] * len(header))
        if any(map(is_number, header)) or not any(name.strip() for name in header):
            raise Refused(
                f"The first row of {self.label} must name the columns. Got a number or empty names instead: "
                f"{self._no_header} is for files whose first row is a row."
            )
        # a delimiter at the end of every row makes a column without a name and without values
        return self._named([*header, *("" for cell in second[len(header) :])] if not any(second[len(header) :]) else header)

    @property
    def _no_header(self) -> str:
        return "--no-header" if self._option == "--" else f"{self._option}header=false"

    def _named(self, header: Sequence[str]) -> tuple[str, ...]:
        positions = [(name.strip(), f"column_{position}") for position, name in enumerate(header, 1)]
        self.unnamed = frozenset(number for name, number in positions if not name and self.dialect.header)
        return tuple(name or number for name, number in positions)

    def _detected_encoding(self) -> str:
        """Return the declared encoding, or UTF-16 if the file begins with its mark, which no UTF-8 text does."""
        with self._open_stream() as stream:
            marked = stream.read(2) in BYTE_ORDER_MARKS
        default = codecs.lookup(self.dialect.encoding).name == "utf-8"
        return "utf-16" if marked and default else "utf-8-sig" if default else self.dialect.encoding

    def _first_rows(self) -> tuple[list[str], list[str]]:
        """Return the header and the row below it."""
        with self._open_stream() as stream:
            # the decoder reads on behind the header; bytes that are wrong there are reported when their rows are read
            errors = "surrogateescape" if self._encoding == "utf-8-sig" else "strict"
            rows = csv.reader(
                io.TextIOWrapper(stream, encoding=self._encoding, errors=errors, newline=""), delimiter=self.dialect.delimiter
            )
            header = next(rows, [])
            "".join(header).encode()
            return header, next(rows, [])

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        import pyarrow
        from pyarrow import csv as reader

        broken: list[Any] = []

        def skip(row: Any) -> str:
            broken.append(row)
            return "skip"

        types = {name: pyarrow.string() for name in names}
        encoding = "utf8" if self._encoding == "utf-8-sig" else self._encoding
        above = int(self.dialect.header)
        read = reader.ReadOptions(
            use_threads=False, block_size=BLOCK_BYTES, column_names=list(self.names), skip_rows=above, encoding=encoding
        )
        parse = reader.ParseOptions(delimiter=self.dialect.delimiter, newlines_in_values=True, invalid_row_handler=skip)
        convert = reader.ConvertOptions(include_columns=list(names), column_types=types, strings_can_be_null=False)
        with self._readable(), self._open_stream() as stream:
            for batch in reader.open_csv(stream, read, parse, convert):
                if broken:
                    break
                yield batch
        if broken:
            row = broken[0]
            raise Refused(
                f"Row {row.number - above} of {self.label} must have {row.expected_columns} columns, as its "
                f"{'header' if above else 'first row'} has. Got {row.actual_columns} instead."
            )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Refuse a file that cannot be read. The readers' own messages may quote a row, so they are not passed on."""
        import pyarrow

        text = "UTF-8" if self.dialect.encoding == "utf-8" else self.dialect.encoding
        hint = f"{self._option}encoding{'=' if self._option != '--' else ' '}latin-1 reads files of older programs."
        try:
            yield
        except UnicodeError:
            raise Refused(f"{self.label} must be text in {text}. Its first row is not: {hint}") from None
        except pyarrow.ArrowInvalid as error:
            if "Empty CSV" in str(error) or "Could not skip" in str(error):  # the file has a header only
                return
            row = re.search(r"Row #(\d+)", str(error))
            where = f"Row {int(row[1]) - self.dialect.header} is not: {hint}" if row else "Got something else."
            raise Refused(f"{self.label} must be a table in {text} text, one line per row. {where}") from None
        except (OSError, EOFError, csv.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise Refused(f"{self.label} cannot be read: {reason or 'it is truncated, or not what its name says'}.") from None
