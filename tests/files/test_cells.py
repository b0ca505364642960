"""A cell means the same whatever its type: its spelling says which cells are equal."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.files.cells import is_number, level_positions, null_numbers, null_spellings, spelling


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        ((1, 1.0, "1", "1.00", " 1 ", "01", "+1", "1e0", np.float32(1), np.int8(1), Decimal("1.0")), "1"),
        ((True, "TRUE", "True", np.bool_(True)), "true"),
        ((-0.5, "-.5", "-0.50"), "-0.5"),
        ((1234567.0, "1234567", "1.234567e6"), "1234567"),
        ((date(2026, 1, 31), "2026-01-31"), "2026-01-31"),
        (("inf", "1_000", "1,5", "0x10"), None),
        ((12345678901234567890, "12345678901234567890"), "12345678901234567890"),
    ],
)
def test_cells_that_mean_the_same_are_spelled_the_same(cells: tuple[Any, ...], text: str | None) -> None:
    assert [spelling(cell) for cell in cells] == [text or cell for cell in cells]


def test_levels_are_met_by_their_spelling_and_truths_by_one_and_zero() -> None:
    assert level_positions(("b", "2.0"), "x") == {"b": 0, "2": 1}
    assert level_positions(("FALSE", "TRUE"), "x") == {"false": 0, "true": 1, "0": 0, "1": 1}
    assert level_positions(("true", "1", "no"), "x") == {"true": 0, "1": 1, "no": 2}
    with pytest.raises(Refused, match=r"The levels of x must differ\. Got '1\.0' and '1'\."):
        level_positions(("1", "1.0"), "x")


def test_codes_count_as_texts_and_as_numbers() -> None:
    assert {"", "NA", "?", "-200"} <= null_spellings(("?", "-200.0"))
    assert null_numbers(("?", "-200.0", "99")) == (-200, 99)


def test_a_number_has_a_decimal_point_and_no_other_signs() -> None:
    assert [text for text in ("1", "-2e5", "nan", "", "x", "1,5", "1_0", " 7.") if is_number(text)] == ["1", "-2e5", " 7."]
