"""Guess the dialect of a file from its rows, for a draft of its bounds. Runs read it from the draft, and never guess."""

import codecs
import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbench.files.cells import is_number
from dpbench.files.dialects import DELIMITERS, Dialect
from dpbench.files.number_texts import STYLES, fits, without_signs
from dpbench.files.table_files import BYTE_ORDER_MARKS, open_bytes
from dpbench.files.user_files import regular_file

TRIED_ROWS = 50
"""The number of rows in which each delimiter is tried."""
PIECE_BYTES = 1 << 20
TYPED_SUFFIXES = (".parquet", ".pq", ".xml")


def guess_dialect(path: str, settings: Mapping[str, Any]) -> Dialect:
    """Return the dialect of a file: the settings that are not None, and guesses for the encoding, delimiter and header."""
    file = regular_file(path)
    known = {name: value for name, value in settings.items() if value is not None}
    if file.suffix.lower() in (*TYPED_SUFFIXES, ".xlsx", ".xlsm"):
        return Dialect.of(known)
    try:
        encoding = known.get("encoding") or _guess_encoding(file)
        text = _first_text(file, encoding)
    except (OSError, EOFError, UnicodeError, LookupError):  # reading the rows says what is wrong
        return Dialect.of(known)
    delimiter = Dialect.of(known).delimiter if "delimiter" in known else _guess_delimiter(text)
    header = known.get("header", not _is_row(next(csv.reader(io.StringIO(text), delimiter=delimiter), [])))
    return Dialect.of({**known, "encoding": encoding, "delimiter": delimiter, "header": header})


def _guess_encoding(file: Path) -> str:
    """Return UTF-8 or UTF-16 if the whole file is, and otherwise the Western encoding that old programs write."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf8, windows = True, False
    with open_bytes(file) as stream:
        if (piece := stream.read(PIECE_BYTES))[:2] in BYTE_ORDER_MARKS:
            return "utf-16"
        while piece:
            windows |= re.search(rb"[\x80-\x9f]", piece) is not None
            try:
                decoder.decode(piece) if utf8 else None
            except UnicodeDecodeError:
                utf8 = False
            piece = stream.read(PIECE_BYTES)
    return "utf-8" if utf8 else "cp1252" if windows else "latin-1"


def _first_text(file: Path, encoding: str) -> str:
    """Return the beginning of a file, up to its last whole line."""
    with open_bytes(file) as stream:
        piece = stream.read(PIECE_BYTES)
    errors = "ignore" if len(piece) == PIECE_BYTES else "strict"  # the piece may end within a character
    text = str(piece, "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding, errors)
    return text if len(piece) < PIECE_BYTES else text[: text.rfind("\n") + 1]


def _guess_delimiter(text: str) -> str:
    """Return the delimiter that divides the first rows into the most columns, all rows into the same number."""
    columns = {}
    for delimiter in DELIMITERS:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter)
        try:
            widths = [len(row) for row, _ in zip(rows, range(TRIED_ROWS), strict=False) if row]
        except csv.Error:
            continue
        if widths and min(widths) == max(widths):
            columns[delimiter] = widths[0]
    best = max(columns, key=lambda delimiter: columns[delimiter], default=",")
    if columns.get(best, 1) > 1:
        return best
    first = text.partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def _is_row(cells: list[str]) -> bool:
    """Return whether the first row holds a number, so that it does not name the columns."""
    import pyarrow
    from pyarrow import compute

    bare = without_signs(pyarrow.array(cells, pyarrow.large_string()))
    return any(map(is_number, cells)) or any(compute.any(fits(bare, style)).as_py() for style in STYLES if cells)
