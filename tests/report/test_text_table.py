"""A table can be read again from its CSV, and its LaTeX is balanced."""

from __future__ import annotations

import re
from pathlib import Path

from report_helpers import csv_of, page_of

from dpbench.records.sweep_record import SweepRecord
from dpbench.report.text_table import TextTable, escaped


def test_every_table_reads_again_and_its_latex_is_balanced(sweep: SweepRecord, tmp_path: Path, undrawn: None) -> None:
    page_of(sweep, tmp_path)
    written = sorted(path.stem for path in tmp_path.glob("*.tex"))
    assert written == ["comparisons", "failures", "leaderboard", "leaks", "ledger"]
    for name in written:
        lines = csv_of(tmp_path / f"{name}.csv")
        assert lines
        assert all(None not in line and None not in line.values() for line in lines)
        text = (tmp_path / f"{name}.tex").read_text(encoding="utf-8")
        columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
        assert columns is not None
        body = [line for line in text.splitlines() if line.endswith(r" \\")]
        assert len(body) == len(lines) + 1
        for line in body:
            assert len(re.findall(r"(?<!\\)&", line)) == len(columns[1]) - 1
            bare = re.sub(r"\\[\\{}$&#%_]", "", line)
            assert bare.count("{") == bare.count("}")
            assert not re.search(r"[#%_<>~^]", re.sub(r"\$[^$]*\$", "", bare).replace("&", ""))
    assert (tmp_path / "summary.csv").is_file()


def test_every_letter_that_latex_would_take_for_its_own_is_escaped() -> None:
    assert escaped("a_b & 50% #1 $x {y} ~^ \\z\nε") == (
        r"a\_b \& 50\% \#1 \$x \{y\} \textasciitilde{}\textasciicircum{} \textbackslash{}z $\varepsilon$"
    )


def test_a_table_keeps_every_digit_in_its_csv() -> None:
    table = TextTable("t", "T", ("name", "value"), (("a,\nb", 0.1 + 0.2), ("c", None)))
    assert table.csv() == 'name,value\n"a,\nb",0.30000000000000004\nc,\n'
    assert table.numeric(1)
    assert not table.numeric(0)
