"""A bounds file declares ranges and levels; whatever is wrong with it is one sentence that names it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench.base.errors import Refused
from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.files.bounds_file import Bounds, ColumnDeclaration, parse_bounds, read_bounds

FULL = """
target: income
threshold: 1e5
sensitive: [sex]
delimiter: ";"
nulls: ["?", no]
columns:
  age: [0, 100]
  income: {low: 0, high: 1e6, unit: USD, kind: integer}
  sex: {levels: [f, no]}
  note: ignore
"""


def test_every_setting_is_read_and_levels_stay_texts(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(FULL)
    assert read_bounds(str(tmp_path / "b.yaml")) == Bounds(
        {
            "age": ColumnDeclaration(0, 100),
            "income": ColumnDeclaration(0, 1e6, "USD", "integer"),
            "sex": ColumnDeclaration(levels=("f", "no")),
        },
        frozenset({"note"}),
        "income",
        1e5,
        ("sex",),
        {"delimiter": ";", "nulls": ("?", "no")},
        from_data=False,
    )


def test_a_column_may_have_codes_of_its_own_and_bounds_that_are_still_open() -> None:
    bounds = parse_bounds(
        {"age": {"low": 0, "high": 99, "nulls": [999]}, "sex": {"levels": [1, 2], "nulls": [9]}, "pay": {"low": "", "high": ""}},
        "mine",
    )
    assert bounds.columns == {
        "age": ColumnDeclaration(0, 99, nulls=("999",)),
        "sex": ColumnDeclaration(levels=("1", "2"), nulls=("9",)),
    }
    assert bounds.open == {"pay"}


def test_weights_are_refused_instead_of_ignored(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("weights: perwt\ncolumns: {age: [0, 1]}\n")
    with pytest.raises(Refused, match=r"b\.yaml' cannot name weights\. Survey weights are not supported: every row counts once"):
        read_bounds(str(tmp_path / "b.yaml"))


@pytest.mark.parametrize("flag", [True, "true"])
@pytest.mark.parametrize(
    ("levels", "all_levels"), [(["a"], ("a", "other")), (["a", "b"], ("a", "b", "other")), (["other", "b"],) * 2]
)
def test_undeclared_levels_can_be_gathered_into_one(flag: Any, levels: list[str], all_levels: Sequence[str]) -> None:
    declaration = parse_bounds({"job": {"levels": levels, "other": flag}}, "mine").columns["job"]
    assert (declaration.levels, declaration.other) == (tuple(all_levels), "other")
    assert declaration.format.other == "other"


def test_the_guide_s_example_of_transforms_is_what_it_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    (block,) = re.findall(
        r"```yaml\n(columns:\n.*?)```", page.partition("### My target is skewed")[2].partition("\n### ")[0], re.S
    )
    columns = parse_bounds(yaml.load(block, yaml.BaseLoader)["columns"], "the guide").columns
    assert columns["wage"] == ColumnDeclaration(1, 100_000, "USD", transform=Transform("log"))
    assert columns["rent"].transform == Transform("quantile", (0, 400, 700, 1200, 9000))


def test_a_missing_value_is_the_level_unknown_only_where_that_is_declared() -> None:
    declared = {
        "sex": {"levels": ["f", "m"]},
        "job": {"levels": ["clerk", "unknown"]},
        "town": {"levels": ["north", "unknown"], "missing": "north"},
        "age": [0, 100],
    }
    columns = parse_bounds(declared, "mine").columns
    levels = {name: (column.with_unknown().levels, column.with_unknown().missing) for name, column in columns.items()}
    assert levels["sex"] == (("f", "m"), "")
    assert levels["job"] == (("clerk", "unknown"), "unknown")
    assert levels["town"] == (("north", "unknown"), "north")
    assert levels["age"] == ((), "")


def test_a_level_that_is_called_other_gathers_nothing_by_itself() -> None:
    assert not parse_bounds({"job": {"levels": ["a", "other"]}}, "mine").columns["job"].other


def test_a_transform_is_declared_by_its_name_or_by_quantiles() -> None:
    columns = {"wage": {"low": "1", "high": 9, "transform": "log"}, "tax": {"low": 0, "high": 9, "quantiles": ["2", 5]}}
    bounds = parse_bounds(columns, "mine").columns
    assert bounds["wage"] == ColumnDeclaration(1, 9, transform=Transform("log"))
    assert bounds["tax"].columns("tax") == (Column("tax", 0, 9, transform=Transform("quantile", (0, 2, 5, 9))),)


@pytest.mark.parametrize(("line", "leaks"), [("from_data: true", True), ("from_data: false", False), ("", False)])
def test_a_draft_says_that_it_comes_from_the_data_until_that_line_is_deleted(line: str, leaks: bool, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"{line}\ncolumns: {{age: [0, 1]}}\n")
    assert read_bounds(str(tmp_path / "b.yaml")).from_data is leaks


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"age": [1, 0]}, "The bounds of column 'age' must be two finite numbers, the lower one first."),
        ({"age": [0]}, "The bounds of 'age' in mine must be [low, high], levels, or ignore. Got [0] instead."),
        ({"age": "0,1"}, "The bounds of 'age' in mine must be [low, high], levels, or ignore."),
        ({"age": {"low": 0}}, "The bounds of 'age' in mine must be [low, high], levels, or ignore. Got (0, None) instead."),
        ({"age": ["a", "b"]}, "The bounds of 'age' in mine must be numbers. Got 'a' instead."),
        ({"job": {"levels": ["a"], "other": False}}, "The levels of 'job' in mine must be at least two different texts."),
        ({"job": {"levels": ["a", "b"], "other": "rest"}}, "The key 'other' of 'job' in mine must be true or false. Got 'rest'"),
        ({"wage": {"low": 1, "high": 9, "transform": "ln"}}, "The transform of 'wage' in mine must be log or log1p, or give its"),
        ({"wage": {"low": 0, "high": 9, "transform": "log"}}, "The lower bound of column 'wage' must be above 0"),
        ({"wage": {"low": 0, "high": 9, "quantiles": 3}}, "The quantiles of 'wage' in mine must be a list. Got 3 instead."),
        ({"wage": {"low": 0, "high": 9, "quantiles": ["a"]}}, "The quantiles of 'wage' in mine must be numbers."),
        ({"wage": {"low": 0, "high": 9, "quantiles": [9]}}, "The quantiles of column 'wage' must be increasing numbers between"),
        (
            {"wage": {"low": 1, "high": 9, "transform": "log", "quantiles": [3]}},
            "The column 'wage' in mine must have one of transform and quantiles. Got both instead.",
        ),
        ({"age": {"low": 0, "hihg": 1}}, "There is no key of the column 'age' in mine named 'hihg'. Did you mean high"),
        ({"age": {"low": 0, "high": 1, "kind": "real"}}, "The kind of 'age' in mine must be continuous or integer."),
        ({"age": {"low": 0, "high": 1.5, "kind": "integer"}}, "its bounds must be whole numbers"),
        ({"sex": {"levels": ["f"]}}, "The levels of 'sex' in mine must be at least two different texts. Got ['f'] instead."),
        ({"sex": {"levels": ["f", "f"]}}, "must be at least two different texts"),
        ({"sex": {"levels": "fm"}}, "The levels of 'sex' in mine must be a list. Got 'fm' instead."),
        (
            {"sex": {"levels": ["f", "m"], "unit": "x"}},
            "The column 'sex' in mine has levels, so it can only have other, nulls, missing and shares. Got 'unit' too.",
        ),
    ],
)
def test_a_wrong_declaration_is_one_sentence(columns: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refusal:
        parse_bounds(columns, "mine")
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("columns: [", "must be YAML. Reading it stopped at line 1."),
        ("columns:\n  age: {low: 18, high: 70\n  pay: {low: 0, high: 9}\n", "must be YAML. Reading it stopped at line 3."),
        ("- a", "must have a key 'columns' that holds a mapping"),
        ("columns: 3", "must have a key 'columns' that holds a mapping"),
        ("columns: {}\ntraget: y", "named 'traget'. Did you mean target"),
        ("columns: {}\nthreshold: high", "The threshold in"),
        ("columns: {}\nsensitive: sex", "The sensitive in"),
    ],
)
def test_a_wrong_file_is_one_sentence(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(content)
    with pytest.raises(Refused) as refusal:
        read_bounds(str(tmp_path / "b.yaml"))
    assert sentence in str(refusal.value)


def test_a_missing_file_says_how_to_draft_one() -> None:
    with pytest.raises(Refused, match="data describe` drafts one"):
        read_bounds("no.yaml")


def test_texts_from_the_command_line_are_spelled_as_in_a_file() -> None:
    """Hydra parses true, 1 and 1.0; a bounds file holds the texts."""
    assert parse_bounds({"x": {"levels": [True, 1, 2.0, "a"]}}, "mine").columns["x"].levels == ("true", "1", "2", "a")


def test_a_range_is_one_column_and_levels_are_one_column_each() -> None:
    assert ColumnDeclaration(0, 9, "years", "integer").columns("age") == (Column("age", 0, 9, "years", kind="integer"),)
    levels = ColumnDeclaration(levels=("f", "m")).columns("sex")
    assert levels == tuple(Column(f"sex={level}", 0, 1, group="sex", meaning=level) for level in "fm")
