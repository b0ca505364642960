"""Write the cells of CSV files and Markdown tables, in which no name is taken for a formula, a tag or the end of a cell."""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from dpbench.base.terminal import shown

CsvEntry = str | float | int | None

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")
"""With these a spreadsheet takes a text for a formula."""


def csv_text(rows: Iterable[Iterable[CsvEntry]]) -> str:
    """Return rows as CSV, with every digit; nothing stands for None, and a quote before a text that would be a formula."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([map(_csv_cell, row) for row in rows])
    return out.getvalue()


def markdown_row(cells: Sequence[str]) -> str:
    """Return a line of a Markdown table. A cell may have lines of its own, separated by ``<br>``."""
    return f"| {' | '.join(map(_markdown_cell, cells))} |"


def _csv_cell(entry: CsvEntry) -> CsvEntry:
    if not isinstance(entry, str):
        return entry
    text = re.sub(r"\r\n?", "\n", entry)  # Python's writer puts no quotes around a carriage return, which would begin a new row
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _markdown_cell(text: str) -> str:
    line = " ".join(shown(text).split()).replace("|", "\\|")
    return re.sub(r"<(?!br>)", "&lt;", line)
