"""What is known of a column is checked against its bounds; other commands accept and ignore it."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.files.bounds_file import parse_bounds
from dpbench.files.column_knowledge import NOTHING_KNOWN, ColumnKnowledge


def test_typical_values_spreads_and_shares_are_read() -> None:
    columns = parse_bounds(
        {
            "a": {"low": 0, "high": 10, "typical": "4", "spread": "2"},
            "b": {"levels": ["x", "y"], "shares": [0.8, 0.3]},
            "c": [0, 1],
        },
        "mine",
    ).columns
    assert columns["a"].knowledge == ColumnKnowledge(4.0, 2.0)
    assert columns["b"].knowledge.shares == pytest.approx((8 / 11, 3 / 11))
    assert columns["c"].knowledge == NOTHING_KNOWN
    assert columns["a"].columns("a") == parse_bounds({"a": [0, 10]}, "mine").columns["a"].columns("a")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"low": 0, "high": 10, "typical": 11}, "'typical' of 'a' in mine must lie within its bounds"),
        ({"low": 0, "high": 10, "spread": 0}, "'spread' of 'a' in mine must be above 0"),
        ({"low": 0, "high": 10, "spread": 11}, "'spread'"),
        ({"low": 0, "high": 10, "typical": "about 3"}, "must be a finite number"),
        ({"low": 0, "high": 10, "spread": "nan"}, "must be a finite number"),
        ({"low": 0, "high": 10, "shares": [1]}, "it needs levels"),
        ({"levels": ["x", "y"], "typical": 1}, "other, nulls, missing and shares"),
        ({"levels": ["x", "y"], "shares": [1]}, "a list of 2 numbers"),
        ({"levels": ["x", "y"], "shares": [0.2, 0.2]}, "add up to about 1"),
        ({"levels": ["x", "y"], "shares": [1.5, -0.5]}, "positive or 0"),
    ],
)
def test_wrong_knowledge_is_refused(column: Any, words: str) -> None:
    with pytest.raises(Refused, match=words):
        parse_bounds({"a": column}, "mine")
