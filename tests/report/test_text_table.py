"""A table keeps every digit in its CSV."""

from __future__ import annotations

from dpbench.report.text_table import TextTable


def test_a_table_keeps_every_digit_in_its_csv() -> None:
    table = TextTable("t", "T", ("name", "value"), (("a,\nb", 0.1 + 0.2), ("c", None)))
    assert table.csv() == 'name,value\n"a,\nb",0.30000000000000004\nc,\n'
    assert table.numeric(1)
    assert not table.numeric(0)
