"""A plain table, which is written as text and as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass

from dpbench.base.cell_texts import CsvEntry, csv_text
from dpbench.base.terminal import shown

Entry = CsvEntry

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
        return csv_text([self.header, *self.rows])


def entry_text(entry: Entry) -> str:
    """Return an entry as a reader sees it: a number to four digits."""
    if entry is None:
        return MISSING
    return f"{entry:.4g}" if isinstance(entry, float) else shown(str(entry))
