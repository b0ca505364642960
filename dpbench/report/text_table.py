"""A plain table, which is written as text, as CSV and as LaTeX."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

Entry = str | float | int | None

MISSING = "–"
"""Printed where there is no number."""

_LATEX_SYMBOLS = {"ε": "varepsilon", "δ": "delta", "ρ": "rho", "μ": "mu", "σ": "sigma", "λ": "lambda", "×": "times", "∞": "infty"}
_LATEX_WORDS = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater", "|": "bar"}
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "{}$&#%_"},
        **{character: rf"\text{word}{{}}" for character, word in _LATEX_WORDS.items()},
        **{character: rf"$\{symbol}$" for character, symbol in _LATEX_SYMBOLS.items()},
        '"': r"\textquotedbl{}",
        "–": "--",
        "…": r"\ldots{}",
        "[": "{[}",
        "]": "{]}",  # a bracket after the end of a row would open an optional argument
    }
)


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
