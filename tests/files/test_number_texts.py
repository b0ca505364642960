"""Numbers in texts are read in one style; what is no number in this style is none, and never a wrong one."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

from dpbench.base.errors import Refused
from dpbench.files.number_texts import STYLES, NumberStyle, parse_numbers


def parsed(texts: list[str | None], *style: str) -> list[Any]:
    return list(parse_numbers(pyarrow.array(texts, pyarrow.large_string()), NumberStyle(*style))[0].to_pylist())


@pytest.mark.parametrize(
    ("style", "texts", "numbers"),
    [
        ((".", ""), ["1.5", "-2e3", "+4", ".5", "7.", "1,5", "x", None], [1.5, -2000, 4, 0.5, 7, None, None, None]),
        ((",", ""), ["1,5", "-2", ",5", "1.5", "1,5e2"], [1.5, -2, 0.5, None, 150]),
        ((".", ","), ["1,234.5", "12,34", "1,234,567", "1234"], [1234.5, None, 1234567, 1234]),
        ((",", "."), ["1.234,5", "1.5", "1.234"], [1234.5, None, 1234]),
        ((".", " "), ["1 234.5", "1\u00a0234", "1\u202f234\u202f567", "1 2"], [1234.5, 1234, 1234567, None]),
        ((".", "'"), ["1'234.5", "1’234"], [1234.5, 1234]),
        ((".", ""), ["$5", "-$5", "€ 6", "7 €", "8\u00a0%", "(9)", "−3", "TRUE", "false"], [5, -5, 6, 7, 8, -9, -3, 1, 0]),
        ((".", ""), ["1e400x", "%", "$", "()", "-"], [None] * 5),
    ],
)
def test_a_style_decides_which_texts_are_numbers(
    style: tuple[str, str], texts: list[str | None], numbers: list[float | None]
) -> None:
    assert parsed(texts, *style) == numbers


def test_the_signs_that_were_met_are_returned() -> None:
    texts = pyarrow.array(["$5", "6 %", "7", "x €", None], pyarrow.large_string())
    assert parse_numbers(texts, NumberStyle())[1] == {"$", "%", ""}


def test_an_impossible_style_is_refused() -> None:
    assert len(set(STYLES)) == len(STYLES)
    for pair in ((",", ","), (";", ""), (".", "x")):
        with pytest.raises(Refused, match="The decimal separator must be"):
            NumberStyle(*pair)
