"""A plain table, which is written as text and as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Entry = str | float | int | None

MISSING = "–"
"""Printed where there is no number."""


@dataclass(frozen=True)
class TextTable:
    """A header and rows, written under one file name."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[Entry, ...]]

    def numeric(self, column: int) -> bool:
        """Return whether a column holds numbers, which are aligned to the right."""
        entries = [row[column] for row in self.rows if row[column] is not None]
        return bool(entries) and not any(isinstance(entry, str) for entry in entries)

    def csv(self) -> str:
        """Return the table with every digit, to compute with; an entry without a number is empty."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([map(_csv_entry, row) for row in [self.header, *self.rows]])
        return out.getvalue()


def _csv_entry(entry: Entry) -> Entry:
    """Return an entry with a quote before a text that a spreadsheet would run as a formula."""
    return f"'{entry}" if isinstance(entry, str) and entry.startswith(("=", "+", "@")) else entry


def entry_text(entry: Entry) -> str:
    """Return an entry as a reader sees it: a number to four digits."""
    if entry is None:
        return MISSING
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)
