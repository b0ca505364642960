"""A draft of a bounds file holds the data, rounded outwards, and says loudly where its numbers come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.files.bounds_draft import MAX_DRAFTED_LEVELS, draft_bounds, profile_columns, round_outwards
from dpbench.files.bounds_file import ColumnDeclaration, read_bounds
from dpbench.files.table_files import File, open_table


def table(folder: Path, text: str) -> File:
    (folder / "t.csv").write_text(text)
    return open_table(str(folder / "t.csv"))


def test_a_draft_can_be_read_and_still_says_that_it_comes_from_the_data(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(draft_bounds(table(tmp_path, "age,sex,share\n17,f,0.25\n88,m,0.75\n")))
    bounds = read_bounds(str(tmp_path / "b.yaml"))
    assert bounds.from_data
    assert bounds.target == "share"
    assert bounds.columns["age"] == ColumnDeclaration(15, 90, kind="integer")
    assert bounds.columns["sex"] == ColumnDeclaration(levels=("f", "m"))
    assert bounds.columns["share"] == ColumnDeclaration(0.25, 0.75)


@pytest.mark.parametrize(("count", "drafted"), [(MAX_DRAFTED_LEVELS, True), (MAX_DRAFTED_LEVELS + 1, False)])
def test_a_column_with_many_texts_is_not_drafted_as_categorical(count: int, drafted: bool, tmp_path: Path) -> None:
    text = "name,y\n" + "".join(f"n{row % count},{row}\n" for row in range(2 * count))
    assert profile_columns(table(tmp_path, text), ["name"])["name"].categorical is drafted
    line = draft_bounds(table(tmp_path, text)).partition("  name: ")[2]
    assert line.startswith("{levels: [n0" if drafted else "ignore  # more than 50 different texts")


def test_a_profile_counts_missing_values_and_leaves_them_out(tmp_path: Path) -> None:
    profile = profile_columns(table(tmp_path, "a,b\n1,\n,\n3.5,\n"), ["a", "b"])
    assert (profile["a"].rows, profile["a"].missing, profile["a"].low, profile["a"].high) == (3, 1, 1, 3.5)
    assert not profile["a"].whole
    assert profile["b"].missing == profile["b"].rows == 3


@pytest.mark.parametrize(("low", "high"), [(0, 1), (17, 90), (-3, 4), (1e-5, 3e-5), (-2_000_000, 7), (5, 5.001)])
def test_a_rounded_range_holds_the_data_and_is_not_much_wider(low: float, high: float) -> None:
    below, above = round_outwards(low, high)
    assert below <= low
    assert above >= high
    assert above - below <= 3 * (high - low)
