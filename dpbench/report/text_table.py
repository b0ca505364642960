"""A plain table, which is written as text, as CSV and as LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

Entry = str | float | int | None

MISSING = "–"
"""Printed where there is no number."""

_LATEX_FORMS: dict[str | int, str | int | None] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # after the end of a row it would open an optional argument
    "]": "{]}",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "ρ": r"$\rho$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "–": "--",
    "…": r"\ldots{}",
}
_LATEX = str.maketrans(_LATEX_FORMS)


@dataclass(frozen=True)
class TextTable:
    """A header and rows, written under one file name."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]

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
        lines += [_latex_row(self.header), r"\hline", *(_latex_row([shown(entry) for entry in row]) for row in self.rows)]
        return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def shown(entry: Entry) -> str:
    """Return an entry as a reader sees it: a number to four digits."""
    if entry is None:
        return MISSING
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)


def escaped(text: str) -> str:
    """Return LaTeX that prints this text."""
    return re.sub(r"\s+", " ", text).translate(_LATEX)


def _latex_row(entries: Sequence[str]) -> str:
    return " & ".join(map(escaped, entries)) + r" \\"
