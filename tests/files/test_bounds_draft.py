"""A draft of a bounds file holds the data, rounded outwards, and says loudly where its numbers come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.files.bounds_draft import draft_bounds, round_outwards
from dpbench.files.bounds_file import ColumnDeclaration, read_bounds
from dpbench.files.column_profiles import MAX_DRAFTED_LEVELS, profile_columns
from dpbench.files.dialect_guess import guess_dialect
from dpbench.files.dialects import Dialect
from dpbench.files.table_files import File, open_table


def table(folder: Path, text: str) -> File:
    (folder / "t.csv").write_text(text)
    return open_table(str(folder / "t.csv"))


def draft_of(folder: Path, text: str | bytes, target: str = "", **settings: Any) -> str:
    """The draft of a file, without its header."""
    (folder / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    dialect = guess_dialect(str(folder / "t.csv"), settings)
    return draft_bounds(lambda known: open_table(str(folder / "t.csv"), known, "--"), dialect, target)


def test_a_draft_can_be_read_and_still_says_that_it_comes_from_the_data(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(draft_of(tmp_path, "age,sex,share\n17,f,0.25\n88,m,0.75\n"))
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
    line = draft_of(tmp_path, text).partition("  name: ")[2]
    assert line.startswith("{levels: [n0" if drafted else "ignore  # more than 50 different texts")


@pytest.mark.parametrize("name", ["id", "patient_id", "customerID", "subject", "Person Nr"])
def test_a_column_that_may_say_whose_rows_these_are_is_pointed_at(name: str, tmp_path: Path) -> None:
    for text in ("p{}", "{}"):
        table = f"{name},y\n" + "".join(f"{text.format(row // 3)},{row % 7}\n" for row in range(60))
        assert "ignore  # if it says whose rows these are, dataset.person" in draft_of(tmp_path, table)


@pytest.mark.parametrize("name", ["paid", "humid", "number_of_rooms", "monkey", "userscore"])
def test_other_names_are_not_taken_for_those_of_persons(name: str, tmp_path: Path) -> None:
    table = f"{name},y\n" + "".join(f"{row // 3},{row % 7}\n" for row in range(60))
    assert f"  {name}: {{low: 0" in draft_of(tmp_path, table)


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


def rows(*columns: Any, header: str, between: str = ",", count: int = 60) -> str:
    return header + "\n" + "".join(between.join(str(column(row)) for column in columns) + "\n" for row in range(count))


@pytest.mark.parametrize(
    ("column", "line"),
    [
        (lambda row: row, "numbers the rows"),
        (lambda row: 1_000 + row * 7 % 61, "x: {low: 1000, high: 1060, kind: integer}"),
        (lambda row: ("TRUE", "FALSE")[row % 2], "x: {levels: [false, true]}"),
        (
            lambda row: "" if row % 9 == 0 else "ab"[row % 2],
            "x: {levels: [a, b]}  # 7 of 60 values are missing; a level unknown, with dataset.missing=level, counts them",
        ),
        (lambda row: f"${row % 9}.50", 'x: {low: 0.5, high: 8.5, unit: "$"}'),
        (lambda row: f"{row % 50} %", 'x: {low: 0, high: 50, kind: integer, unit: "%"}'),
        (lambda row: f"{2000 + row % 20}-03-01", "x: {part: year, low: 2000, high: 2019, kind: integer}  # or"),
        (lambda row: f"{1 + row % 28}.{1 + row % 12}.2020", 'x: {part: month, format: "%d.%m.%Y", low: 1, high: 12'),
        (lambda row: f"0{1 + row % 9}/0{1 + row % 8}/2020", "# or is it format: "),
        (lambda row: f"{row % 24:02d}:15", 'x: {part: hour, format: "%H:%M", low: 0, high: 23, kind: integer}'),
        (lambda row: -1 if row % 9 == 0 else row % 5, "# -1 may mean a missing value: nulls: [-1] says so"),
        (lambda row: -200 if row % 9 == 0 else row / 10 - 1, "# -200 may mean a missing value"),
        (lambda row: 99_999 if row % 9 == 0 else row * 10, "# 99999 may mean a missing value"),
        (lambda row: 95 + row % 5, "x: {low: 95, high: 99, kind: integer}\n"),
        (lambda row: "?" if row % 9 == 0 else f"{row * 31}", 'MOST CELLS ARE NUMBERS'),
        (lambda row: "?" if row % 9 == 0 else f"{row * 31}", 'describe it again with --null "?"'),
        (lambda row: "never" if row % 9 == 0 else f"{1960 + row}-01-01", "MOST CELLS ARE DATES"),
        (lambda row: f"name {row}", "more than 50 different texts"),
    ],
)  # fmt: skip
def test_the_kind_of_a_column_is_recognised(column: Any, line: str, tmp_path: Path) -> None:
    assert line in draft_of(tmp_path, rows(column, lambda row: row % 13, header="x,y"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            rows(lambda row: f"{row},5", lambda row: row % 4, header="x;y", between=";"),
            ['delimiter: ";"', 'decimal: ","', "  x: [0, 60]"],
        ),
        (
            rows(lambda row: f"1.{100 + row},5", lambda row: row % 4, header="x;y", between=";"),
            ['thousands: "."', "  x: [1100, 1160]"],
        ),
        (
            rows(lambda row: f'"1,{100 + row}"', lambda row: row % 4, header="x,y"),
            ['thousands: ","', "  x: {low: 1100, high: 1160"],
        ),
        (
            rows(lambda row: f"1,{100 + row}", lambda row: row % 4, header="x;y", between=";"),
            ['decimal: ","', "  x: [1.1, 1.16]"],
        ),
        (rows(lambda row: f"1,5{row}", lambda row: "2.500", header="x;y", between=";"), ["  y: ignore  # the same value"]),
        (rows(lambda row: row * 3, lambda row: row % 4, header="x\ty", between="\t"), ['delimiter: "\\t"']),
        (
            rows(lambda row: row * 3, lambda row: row % 4, header="Größe,y").encode("latin-1"),
            ['encoding: "latin-1"', "  Größe: "],
        ),
        (rows(lambda row: row * 3, lambda row: row % 4, header="x,y").encode("utf-16"), ['encoding: "utf-16"', "  x: "]),
        (rows(lambda row: row * 3, lambda row: row % 4, header="7,3"), ["header: false", "  column_2: "]),
        (rows(lambda row: row * 3, lambda row: row % 4, lambda row: "", header="x,y"), ["  column_3: ignore  # no value at all"]),
        (rows(lambda row: row, lambda row: row % 4, header=",y"), ["  column_1: ignore  # numbers the rows"]),
    ],
)
def test_the_dialect_is_recognised_and_written_down(text: str | bytes, lines: list[str], tmp_path: Path) -> None:
    draft = draft_of(tmp_path, text)
    assert [line for line in lines if line not in draft] == []
    (tmp_path / "b.yaml").write_text(draft, encoding="utf-8")
    bounds = read_bounds(str(tmp_path / "b.yaml"))
    file = open_table(str(tmp_path / "t.csv"), Dialect.of(bounds.dialect))
    assert set(file.read({name: column.format for name, column in bounds.columns.items()})) == set(bounds.columns)


@pytest.mark.parametrize(
    ("header", "columns", "line"),
    [
        ("income,age", (lambda row: row * 5, lambda row: row % 9), "target: income  # a guess: by its name"),
        (
            "x,age,has",
            (lambda row: row * 5, lambda row: row % 9, lambda row: row % 2),
            "target: has  # a guess: the last column, which has two values; --target names another\nthreshold: 0.5",
        ),
        (
            "has,age,town",
            (lambda row: row % 2, lambda row: row % 9, lambda row: "abc"[row % 3]),
            "target: age  # a guess: the last numeric",
        ),
        (
            "x,y",
            (lambda row: row * 5, lambda row: row % 2),
            "target: y  # a guess: by its name; --target names another\nthreshold: 0.5",
        ),
        ("a,price", (lambda row: "a", lambda row: "b"), "target:\n"),
    ],
)
def test_the_target_is_guessed_by_its_name_and_then_by_its_place(header: str, columns: Any, line: str, tmp_path: Path) -> None:
    assert line in draft_of(tmp_path, rows(*columns, header=header))


def test_the_target_can_be_named(tmp_path: Path) -> None:
    text = rows(lambda row: row * 5, lambda row: 1 + row % 2, lambda row: "same", header="x,y,z")
    assert "target: x\n" in draft_of(tmp_path, text, target="x")
    assert "x: {low: 0, high: 60, kind: integer}" in draft_of(tmp_path, rows(lambda row: row, str, header="x,y"), target="x")
    assert "target: y\nthreshold: 1.5" in draft_of(tmp_path, text, target="y")
    with pytest.raises(Refused, match="must hold numbers or two levels"):
        draft_of(tmp_path, text, target="z")
    with pytest.raises(Refused, match=r"There is no column of t\.csv named 'zz'"):
        draft_of(tmp_path, text, target="zz")
