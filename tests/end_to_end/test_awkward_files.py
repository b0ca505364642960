"""One small table, written in every way that people write tables: always the same numbers, or one sentence without a value."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.table import Table
from dpbench.files.data_frames import remove_frames, store_frame

SECRET = "Zq7Secret"
AGES = [30, None, 50, 61]
SEXES = ["f", "m", "m", "f"]
FLAGS = [True, False, False, True]
DAYS = [date(2001, 2, 3), date(2002, 12, 31), date(2004, 2, 29), date(2003, 1, 1)]
INCOMES = [1234.5, 7.25, -3000.0, 41.75]
BOUNDS: dict[str, Any] = {
    "age": [0, 100],
    "sex": {"levels": ["f", "m"]},
    "flag": {"levels": ["false", "true"]},
    "day": {"part": "year", "low": 2000, "high": 2010},
    "income": [-5000, 5000],
}
FEATURES = [[30, 1, 0, 0, 1, 2001], [50, 0, 1, 1, 0, 2004], [61, 1, 0, 0, 1, 2003]]
"""The three complete rows."""


def english(number: float) -> str:
    return f"{number:,.2f}"


def lines(
    between: str = ",",
    end: str = "\n",
    header: str = "age,sex,flag,day,income",
    tail: str = "",
    gap: str = "",
    flag: Callable[[bool], str] = lambda flag: str(flag).lower(),
    day: Callable[[date], str] = date.isoformat,
    number: Callable[[float], str] = repr,
    age: Callable[[int], str] = str,
) -> str:
    """The table as text."""
    rows = [
        [gap if years is None else age(years), sex, flag(truth), day(when), number(income)]
        for years, sex, truth, when, income in zip(AGES, SEXES, FLAGS, DAYS, INCOMES, strict=True)
    ]
    return end.join([header.replace(",", between), *(between.join(row) + tail for row in rows)]) + end


def german(number: float) -> str:
    return english(number).translate(str.maketrans(",.", ".,"))


GERMAN_BOUNDS = {**BOUNDS, "day": {**BOUNDS["day"], "format": "%d.%m.%Y"}}
NO_HEADER = {f"column_{position}": bounds for position, bounds in enumerate(BOUNDS.values(), 1)}
CODED = {**BOUNDS, "age": {"low": 0, "high": 100, "nulls": [99]}}

TEXT_FILES: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "commas": (lines(), {}),
    "semicolons": (lines(";"), {"delimiter": ";"}),
    "tabs": (lines("\t"), {"delimiter": "tab"}),
    "pipes": (lines("|"), {"delimiter": "pipe"}),
    "blanks around cells": (lines(", "), {}),
    "line ends of Windows": (lines(end="\r\n"), {}),
    "no line end": (lines()[:-1], {}),
    "a mark of UTF-8": (lines().encode("utf-8-sig"), {}),
    "UTF-16": (lines().encode("utf-16"), {}),
    "UTF-16 without a mark": (lines().encode("utf-16-le"), {"encoding": "utf-16-le"}),
    "UTF-32": (lines().encode("utf-32"), {"encoding": "utf-32"}),
    "latin-1": (lines(header="age,sex,flag,day,income,größe", tail=",é").encode("latin-1"), {"encoding": "latin-1"}),
    "Windows' own encoding": (lines(header="age,sex,flag,day,income,x", tail=",“").encode("cp1252"), {"encoding": "cp1252"}),
    "quotes": (lines(number=lambda income: f'"{income}"'), {}),
    "a line end in quotes": (lines(header="age,sex,flag,day,income,x", tail=',"two\nlines"'), {}),
    "no header": (lines().partition("\n")[2], {"header": False, "bounds": NO_HEADER, "target": "column_5"}),
    "empty columns at the end": (lines(header="age,sex,flag,day,income,,", tail=",,"), {}),
    "a delimiter at the end of rows": (lines(tail=","), {}),
    "row numbers without a name": ("," + lines().replace("\n", "\n7,").removesuffix("7,"), {}),
    "decimal commas": (lines(";", number=lambda income: repr(income).replace(".", ",")), {"delimiter": ";", "decimal": ","}),
    "decimal commas and points": (lines(";", number=german), {"delimiter": ";", "decimal": ",", "thousands": "point"}),
    "thousands by commas": (lines(number=lambda income: f'"{english(income)}"'), {"thousands": "comma"}),
    "thousands by blanks": (lines(number=lambda income: english(income).replace(",", " ")), {"thousands": "space"}),
    "thousands by hard blanks": (lines(number=lambda income: english(income).replace(",", "\u00a0")), {"thousands": "space"}),
    "thousands by apostrophes": (lines(number=lambda income: english(income).replace(",", "'")), {"thousands": "'"}),
    "a currency before": (lines(number=lambda income: f"$ {income}"), {}),
    "a currency behind": (lines(number=lambda income: f"{income} €"), {}),
    "percent": (lines(number=lambda income: f"{income}%"), {}),
    "losses in parentheses": (lines(number=lambda income: f"({-income})" if income < 0 else str(income)), {}),
    "a long minus": (lines(number=lambda income: str(income).replace("-", "−")), {}),
    "exponents": (lines(number=lambda income: f"{income:e}"), {}),
    "a plus": (lines(number=lambda income: f"{income:+}"), {}),
    "TRUE and FALSE": (lines(flag=lambda flag: str(flag).upper()), {}),
    "1 and 0": (lines(flag=lambda flag: str(int(flag))), {}),
    "1.0 and 0.0": (lines(flag=lambda flag: str(float(flag))), {}),
    "dates with times": (lines(day=lambda day: f"{day}T23:59:59.5Z"), {}),
    "German dates": (lines(day=lambda day: f"{day:%d.%m.%Y}"), {"bounds": GERMAN_BOUNDS}),
    "NA": (lines(gap="NA"), {}),
    "a mark for missing": (lines(gap="?"), {"nulls": "?"}),
    "a code": (lines(gap="-200"), {"nulls": -200}),
    "a code as pandas writes it": (lines(gap="-200.0", age=lambda age: f"{age}.0"), {"nulls": ["-200"]}),
    "two codes": (lines(gap="-9"), {"nulls": (-1, -9)}),
    "a code of one column": (lines(gap="99"), {"bounds": CODED}),
}


def frame(**columns: Any) -> pandas.DataFrame:
    made: dict[str, Any] = {"age": AGES, "sex": SEXES, "flag": FLAGS, "day": DAYS, "income": INCOMES}
    return pandas.DataFrame({**made, **columns})


def arrow(**columns: Any) -> pyarrow.Table:
    made: dict[str, Any] = {"age": AGES, "sex": SEXES, "flag": FLAGS, "day": DAYS, "income": INCOMES}
    return pyarrow.table({**made, **columns})


def polars_table(lazy: bool = False, **columns: Any) -> Any:
    polars = pytest.importorskip("polars")
    made = polars.DataFrame({"age": AGES, "sex": SEXES, "flag": FLAGS, "day": DAYS, "income": INCOMES})
    made = made.with_columns(**{name: getattr(polars.col(name), method)(*more) for name, (method, *more) in columns.items()})
    return made.lazy() if lazy else made


def categorical() -> Any:
    polars = pytest.importorskip("polars")
    return polars_table(sex=("cast", polars.Categorical))


CODES = [30.0, -200.0, 50.0, 61.0]
TABLES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "pandas": (frame, {}),
    "pandas, dates of its own": (lambda: frame(day=pandas.to_datetime(pandas.Series(DAYS))), {}),
    "pandas, nullable": (lambda: frame().convert_dtypes(), {}),
    "pandas, categories": (lambda: frame().astype({"sex": "category", "flag": "category"}), {}),
    "pandas, objects": (lambda: frame().astype(object), {}),
    "pandas, mixed cells": (lambda: frame(age=["30", None, 50, 61.0], flag=[True, "FALSE", 0, 1.0]), {}),
    "pandas, a code": (lambda: frame(age=CODES), {"nulls": -200}),
    "pandas, an index": (lambda: frame().set_index(pandas.Index([7, 8, 9, 10])), {}),
    "pandas, lists": (lambda: frame(x=[[1], [2], [], None]), {"bounds": {**BOUNDS, "x": "ignore"}}),
    "Arrow": (arrow, {}),
    "Arrow, chunks": (lambda: pyarrow.concat_tables([arrow()[:1], arrow()[1:]]), {}),
    "Arrow, dictionaries": (lambda: arrow(sex=pyarrow.array(SEXES).dictionary_encode()), {}),
    "Arrow, decimals": (lambda: arrow(income=[Decimal(str(income)) for income in INCOMES]), {}),
    "Arrow, small types": (lambda: arrow(age=pyarrow.array(AGES, "int8"), income=pyarrow.array(INCOMES, "float32")), {}),
    "Arrow, texts": (lambda: arrow(age=["30", "", "50", "61"], day=[str(day) for day in DAYS]), {}),
    "Arrow, moments": (lambda: arrow(day=[datetime(day.year, day.month, day.day, 23) for day in DAYS]), {}),
    "Arrow, a code": (lambda: arrow(age=pyarrow.array([30, -200, 50, 61])), {"nulls": "-200.0"}),
    "Arrow, no numbers": (lambda: arrow(age=[30.0, float("nan"), 50.0, 61.0]), {}),
    "Polars": (polars_table, {}),
    "Polars, lazy": (lambda: polars_table(lazy=True), {}),
    "Polars, categories": (categorical, {}),
}


@pytest.fixture(autouse=True)
def _removed() -> Iterator[None]:
    yield
    remove_frames()


@pytest.fixture
def loaded(make: Any) -> Callable[..., Table]:
    def load(path: str, **options: Any) -> Table:
        given = {"target": "income", "bounds": BOUNDS, "missing": "drop", **options}
        table: Table = make("dataset", "table", path=path, **given).select(stream(0))
        return table

    return load


def check(table: Table) -> None:
    np.testing.assert_array_equal(table.features, FEATURES)
    np.testing.assert_array_equal(table.response, [1234.5, -3000, 41.75])
    assert (table.dropped, len(table.columns)) == (1, 6)


@pytest.mark.parametrize("case", TEXT_FILES)
def test_a_text_file_means_the_same_however_it_is_written(case: str, tmp_path: Path, loaded: Any) -> None:
    content, options = TEXT_FILES[case]
    content = content.encode() if isinstance(content, str) else content
    if b"gr\xf6" in content or b",x" in content[:40]:
        options = {"attributes": ["age", "sex", "flag", "day"], **options}
    for name, stored in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(stored)
        check(loaded(str(tmp_path / name), **options))


@pytest.mark.parametrize("case", TABLES)
def test_a_table_in_memory_and_its_parquet_file_mean_the_same(case: str, tmp_path: Path, loaded: Any) -> None:
    build, options = TABLES[case]
    check(loaded(store_frame(build()), **options))
    if case.startswith("Arrow"):
        parquet.write_table(build(), tmp_path / "t.parquet")
        check(loaded(str(tmp_path / "t.parquet"), **options))


def test_an_excel_sheet_means_the_same(tmp_path: Path, loaded: Any) -> None:
    pytest.importorskip("openpyxl")
    frame().to_excel(tmp_path / "t.xlsx", index=False)
    check(loaded(str(tmp_path / "t.xlsx")))


def test_names_in_any_script_are_columns(tmp_path: Path, loaded: Any) -> None:
    names = ["Größe", "年齢 (y)", "it's", "a: b", "x,y"]
    header = ",".join(f'"{name}"' for name in names)
    (tmp_path / "t.csv").write_text(header + lines(header=""), encoding="utf-8")
    bounds = dict(zip(names, BOUNDS.values(), strict=True))
    table = loaded(str(tmp_path / "t.csv"), bounds=bounds, target="x,y")
    check(table)
    assert table.attributes == tuple(names[:-1])


BEYOND = {**BOUNDS, "age": {"low": 0, "high": 9, "missing": 10}}
NO_LEVEL = {**BOUNDS, "sex": {"levels": ["f", "m"], "missing": "x"}}
REFUSED: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "another decimal separator": (
        lines(";", number=lambda income: repr(income).replace(".", ",")),
        {"delimiter": ";"},
        "Row 1 holds",
    ),
    "points for thousands": (lines(";"), {"delimiter": ";", "decimal": ",", "thousands": "."}, "must hold numbers. Row 1"),
    "groups of two digits": (lines(number=lambda income: '"12,34"'), {"thousands": "comma"}, "must hold numbers. Row 1"),
    "two currencies": (lines(number=lambda income: f"{'$' if income > 50 else '€'}{income}"), {}, "must have one currency"),
    "some percent": (lines(number=lambda income: f"{income}{'%' if income > 50 else ''}"), {}, "must have one currency"),
    "no such day": (lines(day=lambda day: "2001-02-30"), {}, "must hold dates as in 2026-12-31. Row 1 holds something else"),
    "another date format": (lines(day=lambda day: f"{day:%m/%d/%Y}"), {"bounds": GERMAN_BOUNDS}, "must hold dates as in '%d"),
    "no declared encoding": (lines().replace("m,", "é,").encode("latin-1"), {}, "must be a table in UTF-8"),
    "an unknown encoding": (lines(), {"encoding": "latin-17"}, "The encoding must be a known one"),
    "no header": (lines().partition("\n")[2], {}, "dataset.header=false is for files whose first row is a row"),
    "two equal names": (lines(header="age,sex,flag,day,age"), {}, "must differ. Got 'age' more than once"),
    "a level that is not declared": (lines().replace("m,", f"{SECRET},"), {}, "must hold one of its levels 'f', 'm'. Row 2"),
    "an open mark": (lines(gap="?"), {}, "The column 'age' of t.csv must hold numbers. Row 2 holds something else."),
    "missing": (lines(), {"missing": "refuse"}, "t.csv has missing values, the first in column 'age', row 2"),
    "a missing value without a declared level": (
        lines().replace(",f,true,2001", ",,true,2001"),
        {"missing": "level", "bounds": {**BOUNDS, "age": {"low": 0, "high": 100, "missing": 40}}},
        "in column 'sex', row 1 (in all: 'sex' 1). dataset.missing=level counts them where `unknown` is a declared level",
    ),
    "missing numbers with a level": (lines(), {"missing": "level"}, "t.csv has missing values, the first in column 'age', row 2"),
    "a short row": (lines() + f"1,{SECRET}\n", {}, "Row 5 of t.csv must have 5 columns"),
    "a constant beyond the bounds": (lines(), {"bounds": BEYOND}, "within its bounds"),
    "a level for missing that is none": (lines(), {"bounds": NO_LEVEL}, "one of its levels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_safely_is_one_sentence_without_a_value(case: str, tmp_path: Path, loaded: Any) -> None:
    content, options, words = REFUSED[case]
    (tmp_path / "t.csv").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(Refused) as refusal:
        loaded(str(tmp_path / "t.csv"), **options)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not [value for value in (SECRET, "1234", "3000", "41.75", "61") if value in str(refusal.value)]


@pytest.mark.parametrize("name", ["t.xls", "t.dta", "folder", "pipe.csv", "no.csv"])
def test_other_things_than_tables_are_refused_at_once(name: str, tmp_path: Path, loaded: Any) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif name == "pipe.csv":
        os.mkfifo(path)
    elif name != "no.csv":
        path.write_text(SECRET)
    with pytest.raises(Refused) as refusal:
        loaded(str(path))
    assert SECRET not in str(refusal.value)


def test_a_missing_value_can_become_a_level_or_a_constant(tmp_path: Path, loaded: Any) -> None:
    (tmp_path / "t.csv").write_text(lines().replace(",f,true,2001", ",,true,2001"))
    bounds = {**BOUNDS, "age": {"low": 0, "high": 100, "missing": 40}, "sex": {"levels": ["f", "m", "unknown"]}}
    table = loaded(str(tmp_path / "t.csv"), bounds=bounds, missing="level")
    names = [column.name for column in table.columns]
    assert names == ["age", "sex=f", "sex=m", "sex=unknown", "flag=false", "flag=true", "day"], "no level that is not declared"
    np.testing.assert_array_equal(table.features[:, :4], [[30, 0, 0, 1], [40, 0, 1, 0], [50, 0, 1, 0], [61, 1, 0, 0]])
    assert table.leaks == ()
    constant = {**bounds, "sex": {"levels": ["f", "m"], "missing": "m"}}
    assert loaded(str(tmp_path / "t.csv"), bounds=constant).features[0, :3].tolist() == [30, 0, 1]
