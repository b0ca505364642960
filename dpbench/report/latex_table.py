"""Write a table as LaTeX that fits a page: ``booktabs`` rules, and columns as wide as there is room for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from dpbench.report.text_table import TextTable, entry_text

MAX_ROWS = 45
"""A table of more lines is a ``longtable``, which breaks over pages."""
TEXT_WIDTH = 345.0
"""Points: the width of the text of ``article`` at 10 points, the narrowest of the usual classes."""
TEXT_HEIGHT = 550.0
"""Points: its height, which is the width of a page in landscape."""
SIZES = {"small": 9, "footnotesize": 8, "scriptsize": 7}
TABLE_SEPARATION = 3.0
"""Points on either side of a column."""
NARROW, WIDE = 0.56, 0.92
"""Widths in em, at most: of digits and small letters in Computer Modern at small sizes, and of capitals and of m and w."""

_LATEX_LINES = files("dpbench.report").joinpath("latex.txt").read_text(encoding="utf-8").splitlines()
_LATEX = str.maketrans(dict(line.split(" ") for line in _LATEX_LINES))
"""LaTeX for characters that mean something else there. Brackets are in braces, as one after a row would open an option."""


@dataclass(frozen=True)
class _Column:
    """A column: its header, its entries as text, and how wide it is in em."""

    header: str
    entries: Sequence[str]
    numeric: bool

    @property
    def natural(self) -> float:
        """The width at which no entry is broken into lines."""
        return max(self.least, *map(_em, self.entries))

    @property
    def least(self) -> float:
        """The width of the longest word, or of the longest number."""
        words = [word for entry in self.entries for word in ([entry] if self.numeric else _words(entry))]
        return max(map(_em, [*words, *_words(self.header)]))


@dataclass(frozen=True)
class _Layout:
    """How a table fits a page: the size of its letters, the width of each column in points, and whether the page is turned."""

    size: str
    widths: Sequence[float]
    landscape: bool


def latex(table: TextTable) -> str:
    """Return a ``tabular``, or a ``longtable`` if it has many rows; what is the same in every row is said below it."""
    columns, same = _columns(table)
    layout = _layout(columns)
    kind = "".join("r" if column.numeric else f"p{{{width:.1f}pt}}" for column, width in zip(columns, layout.widths, strict=True))
    rows = [" & ".join(_cell(column, row) for column in columns) + r" \tabularnewline" for row in range(len(table.rows))]
    sentence = escaped(f"The same in every row: {', '.join(same)}.")
    note = [rf"\par\smallskip\raggedright {sentence}\par"] if same else []
    header = [r"\toprule", _header(columns, layout), r"\midrule"]
    long = _lines(columns, layout) > MAX_ROWS
    if long:
        name, body = "longtable", [*header, r"\endhead", r"\bottomrule", r"\endlastfoot", *rows]
    else:
        name, body = "tabular", [*header, *rows, r"\bottomrule"]
    packages = ["booktabs", *(["longtable"] if long else []), *(["pdflscape"] if layout.landscape else [])]
    inner = [rf"\begin{{{name}}}{{{kind}}}", *body, rf"\end{{{name}}}", *note]
    if layout.landscape:
        inner = [r"\begin{landscape}", *inner, r"\end{landscape}"]
    comments = [f"% {' '.join(table.title.split())}", rf"% The preamble needs \usepackage{{{','.join(packages)}}}."]
    start = rf"\begingroup\{layout.size}\setlength{{\tabcolsep}}{{{TABLE_SEPARATION:g}pt}}\setlength{{\parindent}}{{0pt}}"
    return "\n".join([*comments, start, *inner, r"\endgroup", ""])


def escaped(text: str) -> str:
    """Return LaTeX that prints this text; names may be broken at their underscores, equals signs and slashes."""
    return re.sub(r"(\\_|=|/)", r"\1\\allowbreak{}", re.sub(r"\s+", " ", text).translate(_LATEX))


def _words(text: str) -> list[str]:
    """Return the parts that are never broken."""
    return re.findall(r"[^\s_=/]+[_=/]?|[_=/]", text) or [""]


def _em(text: str) -> float:
    """Return the approximate width of a text in em."""
    return sum(WIDE if letter.isupper() or letter in "mw" else NARROW for letter in text)


def _columns(table: TextTable) -> tuple[list[_Column], list[str]]:
    """Return the columns that differ between rows, and the others as ``name: value``, without those that are empty."""
    columns, same = [], []
    for index, header in enumerate(table.header):
        entries = [entry_text(row[index]) for row in table.rows]
        if len(entries) > 1 and len(set(entries)) == 1:
            if table.rows[0][index] not in (None, ""):
                same.append(f"{header}: {entries[0]}")
        else:
            columns.append(_Column(header, entries, table.numeric(index)))
    if not columns:  # all rows are equal
        columns = [_Column("rows", [str(number + 1) for number in range(len(table.rows))], True)]
    return columns, same


def _layout(columns: Sequence[_Column]) -> _Layout:
    """Return the largest letters at which the columns fit, upright if possible."""
    for landscape, room in ((False, TEXT_WIDTH), (True, TEXT_HEIGHT)):
        for size, points in SIZES.items():
            available = (room - 2 * TABLE_SEPARATION * len(columns) - 1) / points
            least = sum(column.least for column in columns)
            if least <= available or (landscape and points == min(SIZES.values())):
                wanted = sum(column.natural for column in columns)
                fits = wanted <= available or wanted == least  # equal: no entry has a place to break
                share = 1.0 if fits else max(0.0, (available - least) / (wanted - least))
                widths = [points * (column.least + share * (column.natural - column.least)) for column in columns]
                return _Layout(size, widths, landscape)
    raise AssertionError("the last layout takes every table")


def _lines(columns: Sequence[_Column], layout: _Layout) -> int:
    """Return about how many lines the rows take."""
    points = SIZES[layout.size]
    count = 0
    for entries in zip(*(column.entries for column in columns), strict=True):
        lengths = [_em(entry) * points / width for entry, width in zip(entries, layout.widths, strict=True)]
        count += max(1, *(int(length) + 1 for length in lengths))
    return count


def _header(columns: Sequence[_Column], layout: _Layout) -> str:
    cells = []
    for column, width in zip(columns, layout.widths, strict=True):
        side = r"\raggedleft" if column.numeric else r"\raggedright"
        cells.append(rf"\multicolumn{{1}}{{p{{{width:.1f}pt}}}}{{{side} {escaped(column.header)}}}")
    return " & ".join(cells) + r" \tabularnewline"


def _cell(column: _Column, row: int) -> str:
    text = escaped(column.entries[row])
    return text if column.numeric else rf"\raggedright {text}"
