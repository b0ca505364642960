"""Print texts and tables for people: whatever a name contains, a terminal shows all of it and obeys none of it.

Control characters are spelled out, letters that the terminal lacks are replaced, and a table that is wider than the terminal is
printed row by row.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

PIPED_WIDTH = 120
"""Characters of a line where the output is no terminal. A wider table has longer lines."""
MIN_PROSE_WIDTH = 24
"""Characters that a column of prose needs in a table; in less than that, the rows are printed one below the other."""
ASCII_NAMES = {
    "ε": "eps",
    "δ": "delta",
    "Δ": "Delta",
    "ρ": "rho",
    "μ": "mu",
    "–": "-",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "−": "-",
}
"""What a terminal shows that cannot show a character; any other such character is a question mark."""
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys or that reorder a line: all but tabs and ends of lines."""


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace what an encoding lacks: a handler of errors for Python's codecs."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII_NAMES.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


codecs.register_error("dpbench", _in_ascii)


def shown(text: str, encoding: str | None = "utf-8") -> str:
    r"""Return a text as a terminal can show it. A control character becomes its number, as in \u001b, which JSON reads too."""
    plain = CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return plain.encode(encoding or "utf-8", "dpbench").decode(encoding or "utf-8")


def say(text: str = "", *, error: bool = False, end: str = "\n") -> None:
    """Print a text as it is, without wrapping its lines."""
    stream = sys.stderr if error else sys.stdout
    print(shown(text, stream.encoding), file=stream, end=end)


def say_prose(text: str, *, error: bool = False, indent: int = 0) -> None:
    """Print paragraphs: on a terminal lines break between words, and later lines are indented; elsewhere each stays one line."""
    import textwrap

    stream = sys.stderr if error else sys.stdout
    if stream.isatty():
        width, hanging = console(stream).width, " " * indent
        wrapper = textwrap.TextWrapper(width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
        text = "\n\n".join(map(wrapper.fill, text.split("\n\n")))
    say(text, error=error)


def console(stream: TextIO | None = None, piped_width: int = PIPED_WIDTH) -> Console:
    """Return a console that prints every text as it is; where there is no terminal, its lines are this long."""
    from rich.console import Console
    from rich.text import Text

    class _PlainConsole(Console):
        def render_str(self, text: str, *, style: Any = "", justify: Any = None, **_: Any) -> Text:
            return Text(shown(text, self.encoding), style=style, justify=justify)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end the process with exit code 1

    target = _PlainConsole(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if not target.is_terminal:
        target.width = piped_width
    return target


def fits(target: Console, table: Table) -> bool:
    """Return whether a table can be printed on this console with every number and name in one piece."""
    return _needed_width(target, table) <= target.width


def print_grid(target: Console, table: Table, heading: int = 1) -> None:
    """Print a table, as wide as it needs to be where there is no terminal.

    On a terminal that is too narrow, what is the same in every row is said once. If that is not enough, each row becomes a
    paragraph that begins with its first ``heading`` cells.
    """
    needed = _needed_width(target, table)
    if not target.is_terminal:
        width, target.width = target.width, max(needed, target.width)
        target.print(table)
        target.width = width
        return
    if needed <= target.width:
        _print_within(target, table, needed)
        return
    columns = list(table.columns)
    if table.title:
        target.print(table.title, style="bold")
    same = [column for column in columns[heading:] if table.row_count > 1 and len(set(column.cells)) == 1]
    if said_once := _pairs([(column, next(iter(column.cells))) for column in same]):
        target.print("The same in every row:")
        for line in _wrapped(said_once, target.width - 2):
            target.print(f"  {line}")
    rest = _with_columns(table, [column for column in columns if column not in same])
    if (needed := _needed_width(target, rest)) <= target.width:
        _print_within(target, rest, needed)
        return
    print_rows(target, rest, heading)


def print_rows(target: Console, table: Table, heading: int = 1) -> None:
    """Print each row of a table as a paragraph, which begins with a line of its first ``heading`` cells."""
    for row in zip(*(column.cells for column in table.columns), strict=True):
        target.print(" ".join(filter(None, map(str, row[:heading]))), style="bold")
        pairs = _pairs(list(zip(table.columns, row, strict=True))[heading:])
        for line in _wrapped(pairs, target.width - 2):
            target.print(f"  {line}")


def _print_within(target: Console, table: Table, needed: int) -> None:
    """Print a table that fits. What is left of the line goes to the columns that lack least, and prose takes the rest.

    Rich would narrow the widest columns evenly, also below what a number needs, and then cut the table's last columns off.
    """
    spare = target.width - needed
    lacks = [
        (_longest([*str(column.header).splitlines(), *map(str, column.cells)]) - (column.min_width or 0), column)
        for column in table.columns
    ]
    for lack, column in sorted(lacks, key=lambda item: item[0]):
        extra = max(0, min(spare, lack))
        column.width = (column.min_width or 0) + extra
        spare -= extra
    target.print(table)


def _needed_width(target: Console, table: Table) -> int:
    """Return the width at which no number and no name is broken. It becomes the least width of the table's columns."""
    for column in table.columns:
        cells = [shown(str(cell), target.encoding) for cell in column.cells]
        whole, words = _longest(cells), _longest(word for cell in cells for word in cell.split())
        header = str(column.header)
        # numbers stand at the right: their heading may be broken, but they may not
        least = whole if column.no_wrap or column.justify == "right" else max(words, min(whole, MIN_PROSE_WIDTH))
        column.min_width = max(least, _longest(header.splitlines() if column.no_wrap else header.split()))
    return target.measure(table, options=target.options.update(width=10_000)).minimum


def _longest(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _with_columns(table: Table, columns: Sequence[Column]) -> Table:
    """Return the table with some of its columns, and without its title."""
    from rich.table import Table

    narrower = Table(header_style=table.header_style, pad_edge=table.pad_edge, show_lines=table.show_lines)
    for column in columns:
        narrower.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap)
    for row, cells in zip(table.rows, zip(*(column.cells for column in columns), strict=True), strict=True):
        narrower.add_row(*cells, style=row.style)
    return narrower


def _pairs(cells: Sequence[tuple[Column, object]]) -> list[str]:
    return [f"{' '.join(str(column.header).split())}: {cell}" for column, cell in cells if str(cell)]


def _wrapped(pairs: Sequence[str], width: int) -> list[str]:
    """Return lines that break between pairs, and within a pair only where it is longer than a line."""
    import textwrap

    lines: list[str] = []
    for pair in pairs:
        if lines and len(lines[-1]) + len(pair) + 2 <= width:
            lines[-1] += f"; {pair}"
        else:
            lines += textwrap.wrap(pair, width, break_long_words=False, break_on_hyphens=False)
    return lines
