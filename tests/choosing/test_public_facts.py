"""Public facts come from declarations alone, and only from complete ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.choosing.public_facts import PublicFacts, facts_of
from dpbench.files.bounds_file import parse_bounds
from dpbench.registry.lookup import build

LINEAR = build("model", {"name": "linear"})


def test_facts_hold_the_design_and_what_is_known(facts: PublicFacts) -> None:
    assert facts.geometry.columns == ("age", "tall", "sex=f", "sex=m")
    assert facts.known_columns == 4
    assert facts.target.unit == "USD"


@pytest.mark.parametrize(
    ("changes", "target", "words"),
    [
        ({}, "", "must be the name of a column"),
        ({}, "income", "must be declared"),
        ({}, "tax", "must be declared"),
        ({"age": {"low": 0, "high": ""}}, "wage", "'age' are open"),
        ({"wage": {"levels": ["a", "b", "c"]}}, "wage", "two levels"),
    ],
)
def test_incomplete_declarations_are_refused(columns: dict[str, Any], changes: dict[str, Any], target: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        facts_of(parse_bounds({**columns, **changes}, "mine"), target, LINEAR, (0.2, 0.9))


def test_bounds_that_were_read_from_the_rows_are_no_public_facts(columns: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="not public"):
        facts_of(replace(parse_bounds(columns, "mine"), from_data=True), "wage", LINEAR, (0.2, 0.9))


@pytest.mark.parametrize("r_squared", [(0, 0.5), (0.5, 0.2), (0.5, 1)])
def test_a_range_of_r_squared_lies_between_0_and_1(columns: dict[str, Any], r_squared: tuple[float, float]) -> None:
    with pytest.raises(Refused, match="R²"):
        facts_of(parse_bounds(columns, "mine"), "wage", LINEAR, r_squared)
