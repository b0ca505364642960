"""No text in a CSV file or a Markdown table means more than itself."""

from __future__ import annotations

import csv
import io

import pytest

from dpbench.base.cell_texts import csv_text, markdown_row


@pytest.mark.parametrize("text", ["=cmd()", "+cmd", "-cmd", "@cmd", "\tcmd", "\ncmd", '=HYPERLINK("x")'])
def test_a_text_that_a_spreadsheet_would_run_stands_behind_a_quote(text: str) -> None:
    assert list(csv.reader(io.StringIO(csv_text([[text]]), newline=""))) == [[f"'{text}"]]


@pytest.mark.parametrize("text", ["-1", "+1", "-1e-06", "-inf", "a=b", "5 x 5-fold", ""])
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert csv_text([[text, "z"]]) == f"{text},z\n"


def test_numbers_keep_every_digit_and_nothing_is_empty() -> None:
    assert csv_text([["n", "x"], [-1, 0.1 + 0.2], [None, float("-inf")]]) == "n,x\n-1,0.30000000000000004\n,-inf\n"


def test_a_name_neither_ends_a_cell_of_markdown_nor_begins_a_tag() -> None:
    assert markdown_row(["a|b", "c\nd", "<script>x</script>", "e<br>f", "\x1b[31m"]) == (
        "| a\\|b | c d | &lt;script>x&lt;/script> | e<br>f | \\u001b[31m |"
    )


def test_a_carriage_return_begins_no_row() -> None:
    assert list(csv.reader(io.StringIO(csv_text([["a\r=cmd()", "b"]]), newline=""))) == [["a\n=cmd()", "b"]]
