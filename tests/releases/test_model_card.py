"""A model card says what a released model is, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column
from dpbench.releases.model_card import is_card, model_card
from dpbench.releases.release_file import Release
from dpbench.releases.released_intervals import NoIntervals

HEADINGS = [
    "What it is", "What is promised", "What it is not for", "Columns and bounds", "Coefficients", "How errors were estimated",
    "How to use it", "How to check it", "How it was made",
]  # fmt: skip


def test_a_card_has_every_section_and_is_recognised(wages: Callable[..., Release]) -> None:
    card = model_card(wages(), "model.json")
    assert is_card(card)
    assert not is_card("# My notes\n")
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == HEADINGS


def test_the_guarantee_is_the_statement_of_the_release(wages: Callable[..., Release]) -> None:
    released = wages()
    card = model_card(released, "model.json")
    assert released.statement in card
    assert "ε = 1, δ = 1e-06; neighbours: `replace_one`; noise: secure; 1 private answer" in card


def test_every_declared_column_is_listed(wages: Callable[..., Release]) -> None:
    hired = Column("hired", 1990, 2030, kind="integer")
    formats = {
        "hired": ColumnFormat(part="year", missing="2000"),
        "town": ColumnFormat(("north", "south", "the west"), other="south"),
    }
    card = model_card(wages(columns=(*wages().columns, hired), formats=formats), "model.json")
    assert "| age | 18 to 70 | year | completed years |" in card
    assert "| town | north, south, the west; any other value counts as south |  |  |" in card
    assert "| hired | 1990 to 2030, whole numbers; the year of a date; a missing value counts as 2000 |  |  |" in card
    assert "| wage (the target) | 0 to 3000 | € |  |" in card


def test_names_cannot_break_the_table(wages: Callable[..., Release]) -> None:
    card = model_card(wages(columns=(Column("a|b\n<i>`c`", 0, 1),), formats={}), "model.json")
    assert "| a\\|b &lt;i>\\`c\\` | 0 to 1 |  |  |" in card


def test_coefficients_have_intervals_where_there_are_some(wages: Callable[..., Release], intervals_of: Any) -> None:
    sure = replace(wages(), inference=intervals_of(wages()))
    assert "95 % interval" in model_card(sure, "m.json")
    assert "A sentence." in model_card(sure, "m.json")
    rows = {name: {**row, "estimate": 0.07} for name, row in sure.inference.coefficients.items()}  # type: ignore[union-attr]
    card = model_card(replace(sure, inference=replace(sure.inference, coefficients=rows)), "m.json")
    assert re.search(r"^age +4\.038 ", card, re.MULTILINE), "the estimate in € per year, and not the weight, which is 7.5"
    unsure = model_card(wages(inference=NoIntervals("No intervals: a reason.")), "m.json")
    assert "No intervals: a reason." in unsure
    assert "| age | 0.13 | 7.5 |" in unsure
    assert "this model has no standard errors" in unsure


def test_the_card_says_how_to_use_the_model_and_how_it_was_made(wages: Callable[..., Release]) -> None:
    card = model_card(wages(command="python -m dpbench release mechanism=ssp out=wages.json"), "wages.json")
    assert "python -m dpbench predict wages.json new.csv" in card
    assert "python -m dpbench verify wages.json" in card
    assert "```sh\npython -m dpbench release mechanism=ssp out=wages.json\n```" in card
    assert "needs `age`, `town`" in card


def test_synthetic_rows_and_binary_targets_are_said(wages: Callable[..., Release]) -> None:
    synthetic = wages(dataset={"name": "gaussian", "synthetic": True, "licence": "", "citation": ""})
    assert "**The rows are synthetic" in model_card(synthetic, "m.json")
    assert "the probability that `wage` is above 900" in model_card(wages(kind="binary", threshold=900.0), "m.json")
    sick = Column("sick", 0, 1, kind="binary", meaning="1 = yes")
    card = model_card(wages(kind="binary", threshold=0.5, target=sick), "m.json")
    assert "the probability that `sick` is 1 (1 = yes) from" in card
