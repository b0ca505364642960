"""A table in LaTeX fits a page, is balanced, and says what is the same in every row."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from report_helpers import csv_of, page_of

from dpbench.records.sweep_record import SweepRecord
from dpbench.report.latex_table import TABLE_SEPARATION, TEXT_HEIGHT, TEXT_WIDTH, escaped, latex
from dpbench.report.text_table import Entry, TextTable

LONG = "a proof of several words that is far too long for a single line of a column " * 3
MANY = TextTable(
    "many", "Many columns", tuple(f"column {letter}" for letter in "abcdefghijklmn"), ((0.123456,) * 14, (7.5,) * 14)
)
TABLES = [
    TextTable("numbers", "Numbers", ("name", "value"), (("a_b", 0.5), ("ε & 50%", None))),
    TextTable("texts", "Texts", ("mechanism", "proof or reason", "n"), (("fm", LONG, 1), ("dpba (alpha=opt)", "2Δ²‖w‖ ≤ ½", 2))),
    TextTable("long", "Rows", ("row", "text"), tuple((index, "CAPITALS, m and w") for index in range(100))),
    MANY,
    TextTable("one", "One row", ("a", "b"), ((1, "x"),)),
    TextTable("same", "Equal rows", ("a", "b"), ((1, "x"), (1, "x"))),
]
NAMES = [table.name for table in TABLES]


def rows_of(text: str) -> list[str]:
    """The rows of a table without its header, which has a cell for each column, and without the note."""
    return [line for line in text.splitlines() if line.endswith(r"\tabularnewline") and r"\multicolumn" not in line]


def columns_of(text: str) -> list[str]:
    found = re.search(r"\\begin\{(?:tabular|longtable)\}\{((?:r|l|p\{[\d.]+pt\})+)\}", text)
    assert found is not None
    return re.findall(r"r|l|p\{[\d.]+pt\}", found[1])


@pytest.mark.parametrize("table", TABLES, ids=NAMES)
def test_the_columns_fit_the_page_by_their_widths(table: TextTable) -> None:
    text = latex(table)
    header = next(line for line in text.splitlines() if line.startswith(r"\multicolumn{1}"))
    widths = [float(width) for width in re.findall(r"\\multicolumn\{1\}\{p\{([\d.]+)pt\}\}", header)]
    assert len(widths) == len(columns_of(text))
    room = TEXT_HEIGHT if "landscape" in text else TEXT_WIDTH
    assert sum(widths) + 2 * TABLE_SEPARATION * len(widths) <= room
    assert all(len(re.findall(r"(?<!\\)&", row)) == len(widths) - 1 for row in rows_of(text))


def test_every_table_of_a_report_has_its_rows_and_is_balanced(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page_of(sweep, tmp_path)
    written = sorted(path.stem for path in tmp_path.glob("*.tex"))
    assert written == ["comparisons", "decision", "failures", "leaderboard", "leaks", "ledger"]
    for name in written:
        text = (tmp_path / f"{name}.tex").read_text(encoding="utf-8")
        assert len(rows_of(text)) == len(csv_of(tmp_path / f"{name}.csv"))
        for line in rows_of(text):
            bare = re.sub(r"\\[\\{}$&#%_]", "", line)
            assert bare.count("{") == bare.count("}")
            assert not re.search(r"[#%_<>~^]", re.sub(r"\$[^$]*\$", "", bare).replace("&", ""))


def test_what_is_the_same_in_every_row_is_said_once_and_what_is_empty_is_left_out() -> None:
    rows: tuple[tuple[Entry, ...], ...] = (("fm", "synthetic", None, 0.5), ("dpba", "synthetic", None, 0.25))
    text = latex(TextTable("t", "T", ("mechanism", "data", "nothing", "median"), rows))
    assert "The same in every row: data: synthetic." in text
    assert "nothing" not in text
    assert len(columns_of(text)) == 2


@pytest.mark.parametrize(("rows", "kind"), [(45, "tabular"), (46, "longtable")])
def test_a_table_longer_than_a_page_breaks(rows: int, kind: str) -> None:
    text = latex(TextTable("t", "T", ("row",), tuple((index,) for index in range(rows))))
    assert rf"\begin{{{kind}}}" in text
    assert ("longtable}" in text.splitlines()[1]) == (kind == "longtable"), "the package is named"


def test_every_letter_that_latex_would_take_for_its_own_is_escaped() -> None:
    assert escaped("a_b & 50% #1 $x {y} ~^ \\z\nε") == (
        r"a\_\allowbreak{}b \& 50\% \#1 \$x \{y\} \textasciitilde{}\textasciicircum{} \textbackslash{}z $\varepsilon$"
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_sets_every_table_within_the_margins(tmp_path: Path) -> None:
    """At the narrowest text width of the usual classes, twice, as a longtable needs."""
    lines = [r"\documentclass{article}\usepackage{booktabs,longtable,pdflscape}\begin{document}"]
    for table in TABLES:
        (tmp_path / f"{table.name}.tex").write_text(latex(table), encoding="utf-8")
        lines.append(rf"\input{{{table.name}.tex}}\clearpage")
    (tmp_path / "main.tex").write_text("\n".join([*lines, r"\end{document}"]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    results = [subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False) for _ in range(2)]
    assert [result.returncode for result in results] == [0, 0], results[0].stdout[-2000:]
    assert "Overfull" not in results[1].stdout


def test_a_table_that_nothing_can_make_narrower_is_still_written() -> None:
    wide = TextTable("wide", "Wide", tuple(f"name{index}" for index in range(60)), (("unbreakable",) * 60, ("indivisible",) * 60))
    assert latex(wide).count("unbreakable") == 60
