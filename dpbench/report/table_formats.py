"""A plain table, a header and rows, and its forms: as text to be read, as CSV, as LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | float | int | None

NOTHING = "–"
"""What stands where there is no number."""

_LATEX = {
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
_PRINTED = str.maketrans(_LATEX)


@dataclass(frozen=True)
class TextTable:
    """What is written under one file name."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def numeric(self, column: int) -> bool:
        """Whether a column holds numbers, and stands to the right."""
        cells = [row[column] for row in self.rows if row[column] is not None]
        return bool(cells) and not any(isinstance(cell, str) for cell in cells)

    def csv(self) -> str:
        """With every digit, so that it can be computed with; empty where there is nothing."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(["" if cell is None else cell for cell in row] for row in self.rows)
        return out.getvalue()

    def latex(self) -> str:
        """A ``tabular`` that needs no package."""
        columns = "".join("r" if self.numeric(column) else "l" for column in range(len(self.header)))
        lines = [f"% {' '.join(self.title.split())}", rf"\begin{{tabular}}{{{columns}}}", r"\hline"]
        lines += [_line(self.header), r"\hline", *(_line([shown(cell) for cell in row]) for row in self.rows)]
        return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def shown(cell: Cell) -> str:
    """As a reader sees it: a number to four digits."""
    if cell is None:
        return NOTHING
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def escaped(text: str) -> str:
    """A text that LaTeX prints as it is."""
    return re.sub(r"\s+", " ", text).translate(_PRINTED)


def _line(cells: Sequence[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
