"""A plain table, which is written as text, as CSV and as LaTeX."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

Entry = str | float | int | None

MISSING = "–"
"""Printed where there is no number."""

_LATEX_LINES = files("dpbench.report").joinpath("latex.txt").read_text(encoding="utf-8").splitlines()
_LATEX = str.maketrans(dict(line.split(" ") for line in _LATEX_LINES))
"""LaTeX for characters that mean something else there. Brackets are in braces, as one after a row would open an option."""


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
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()

    def latex(self) -> str:
        """Return a ``tabular`` that needs no package."""
        columns = "".join("r" if self.numeric(column) else "l" for column in range(len(self.header)))
        lines = [f"% {' '.join(self.title.split())}", rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
        lines += [_latex_row(self.header), r"\hline", *(_latex_row([entry_text(entry) for entry in row]) for row in self.rows)]
        return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def entry_text(entry: Entry) -> str:
    """Return an entry as a reader sees it: a number to four digits."""
    if entry is None:
        return MISSING
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def escaped(text: str) -> str:
    """Return LaTeX that prints this text."""
    return re.sub(r"\s+", " ", text).translate(_LATEX)


def _latex_row(entries: Sequence[str]) -> str:
    return " & ".join(map(escaped, entries)) + r" \\"
