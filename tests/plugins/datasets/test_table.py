"""Anyone's own table: what is read, what is declared, what is refused in one sentence, and never a value in it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.table import Table
from dpbench.files import data_frames
from dpbench.registry.lookup import registry

SECRET = "Zq7Secret"
BOUNDS: dict[str, Any] = {"age": [0, 100], "sex": {"levels": ["f", "m"]}, "income": [0, 50_000]}
EXCERPT = Path(os.environ.get("DPBENCH_SHARED_DATA", "nowhere"), "acs2019_national.csv.gz")
"""NIST's excerpt of the American Community Survey 2019, which does not ship."""

Make = Callable[..., Any]


@pytest.fixture
def loaded(tmp_path: Path, make: Make) -> Callable[..., Table]:
    """The table of a file with this content."""

    def load(content: str | bytes, name: str = "people.csv", seed: int = 0, **options: Any) -> Table:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        given = {"path": str(path), "target": "income", "bounds": BOUNDS, **options}
        table: Table = make("dataset", "table", **given).select(stream(seed))
        return table

    return load


GOOD = "age,sex,income\n30,m,20000\n40, f ,30000\n150,m,-5\n"


def test_columns_are_read_as_they_are_declared(loaded: Any) -> None:
    table = loaded(GOOD)
    assert [column.name for column in table.columns] == ["age", "sex=f", "sex=m"]
    assert [column.group for column in table.columns] == [None, "sex", "sex"]
    assert table.attributes == ("age", "sex")
    np.testing.assert_array_equal(table.features, [[30, 0, 1], [40, 1, 0], [150, 0, 1]])
    np.testing.assert_array_equal(table.response, [20_000, 30_000, -5])
    assert (table.target.low, table.target.high) == (0, 50_000)
    assert table.leaks == ()


@pytest.mark.parametrize("name", ["people.csv.gz", "people.parquet", "people.tsv"])
def test_the_kind_of_file_makes_no_difference(name: str, loaded: Any, tmp_path: Path) -> None:
    frame = pandas.DataFrame({"age": [30, 40, 150], "sex": ["m", "f", "m"], "income": [20_000.0, 30_000.0, -5.0]})
    options: dict[str, Any] = {}
    if name.endswith(".parquet"):
        frame.to_parquet(tmp_path / "it.parquet")
        content = (tmp_path / "it.parquet").read_bytes()
    elif name.endswith(".gz"):
        content = gzip.compress(GOOD.encode())
    else:
        content, options = GOOD.replace(",", "\t").encode(), {"delimiter": "\t"}
    table, plain = loaded(content, name, **options), loaded(GOOD)
    np.testing.assert_array_equal(table.features, plain.features)
    np.testing.assert_array_equal(table.response, plain.response)


def test_levels_may_be_numbers_truths_or_texts(loaded: Any) -> None:
    text = "code,flag,income\n1,True,1\n2.0,false,2\n1,true,3\n"
    table = loaded(text, bounds={"income": [0, 5]}, levels={"code": [1, 2], "flag": [True, False]})
    np.testing.assert_array_equal(table.features, [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    assert table.attributes == ("code", "flag")


def test_a_target_of_two_levels_is_binary(loaded: Any) -> None:
    table = loaded("age,rich\n30,no\n40,yes\n50,no\n", target="rich", bounds={"age": [0, 100], "rich": {"levels": ["no", "yes"]}})
    np.testing.assert_array_equal(table.response, [0, 1, 0])
    assert (table.target.low, table.target.high, table.threshold) == (0, 1, 0.5)


def test_a_bounds_file_can_declare_what_the_options_can(loaded: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.yaml"
    file.write_text(
        'target: income\nthreshold: 1e4\nsensitive: [sex]\ndelimiter: ";"\nnulls: [N]\n'
        "columns:\n  age: {low: 0, high: 100, unit: years, kind: integer}\n  sex: {levels: [no, yes]}\n"
        "  income: [0, 50000]\n  name: ignore\n"
    )
    text = f"age;sex;name;income\n30;no;{SECRET};1\n40;yes;{SECRET};2\nN;yes;;3\n"
    table = loaded(text, target="", bounds=str(file), missing="drop")
    assert table.attributes == ("age", "sex")
    assert (table.columns[0].unit, table.columns[0].kind) == ("years", "integer")
    assert (table.threshold, table.sensitive, table.rows, table.dropped) == (10_000, ("sex",), 2, 1)


def test_a_code_for_a_missing_value_counts_in_its_column_only(loaded: Any) -> None:
    bounds = {"age": {"low": 0, "high": 120, "nulls": [99]}, "sex": {"levels": ["f", "m"], "nulls": ["x"]}, "income": [0, 100]}
    table = loaded("age,sex,income\n30,m,99\n99,f,1\n40,x,2\n50,f,3\n", bounds=bounds, missing="drop")
    np.testing.assert_array_equal(table.response, [99, 3])
    assert "(age 1, sex 1)" in table.leaks[0].why


def test_only_the_chosen_attributes_need_bounds(loaded: Any) -> None:
    text = f"name,age,income\n{SECRET},30,1\n{SECRET},40,2\n"
    table = loaded(text, bounds={"age": [0, 100], "income": [0, 5]}, attributes=["age"])
    assert table.attributes == ("age",)


def test_bounds_from_the_data_work_and_are_a_leak(loaded: Any) -> None:
    table = loaded(GOOD, bounds="data")
    assert [(column.low, column.high) for column in table.columns] == [(30, 150), (0, 1), (0, 1)]
    assert (table.target.low, table.target.high) == (-5, 30_000)
    assert [leak.what for leak in table.leaks] == ["bounds_from_data"]


HOLES = "age,sex,income\n30,m,1\n,f,2\n50,NA,3\n60,f,\n70,m,5\n80,f,6\n"


def test_dropping_rows_is_counted_and_a_leak(loaded: Any) -> None:
    table = loaded(HOLES, missing="drop")
    np.testing.assert_array_equal(table.response, [1, 5, 6])
    assert table.dropped == 3
    (leak,) = table.leaks
    assert leak.what == "rows_dropped"
    assert "3 of 6 rows" in leak.why
    assert "(age 1, sex 1, income 1)" in leak.why


def test_a_declared_sample_size_makes_n_public_again(loaded: Any) -> None:
    table = loaded(HOLES, missing="drop", sample_n=2)
    assert (table.rows, table.dropped, table.leaks) == (2, 3, ())
    with pytest.raises(Refused, match=r"sample_n=4 needs more rows than people\.csv has without a missing value: 3"):
        loaded(HOLES, missing="drop", sample_n=4)


def test_one_changed_row_changes_at_most_one_row_of_the_sample(loaded: Any) -> None:
    """Each of 60 rows in turn loses its value: the sample of 20 keeps at least 19."""
    ages = [str(20 + index) for index in range(60)]

    def sample(values: list[str]) -> set[float]:
        text = "age,income\n" + "".join(f"{value},{index}\n" for index, value in enumerate(values))
        table = loaded(text, bounds={"age": [0, 100], "income": [0, 100]}, missing="drop", sample_n=20, seed=3)
        return set(table.response)

    before, moved = sample(ages), 0
    for index in range(60):
        after = sample([*ages[:index], "", *ages[index + 1 :]])
        assert len(before & after) >= 19
        moved += before != after
    assert moved == 20


VISITS = "who,age,income\nb,30,1\na,40,2\nb,31,3\nc,50,4\nb,,5\na,41,\nb,33,7\n"
PERSONS = {"bounds": {"age": [0, 100], "income": [0, 10]}, "person": "who", "rows_per_person": 3}


def test_the_first_rows_of_each_person_count_before_anything_else(loaded: Any) -> None:
    """The third row of b lacks its age: it counts nevertheless, so the fourth does not take its place."""
    table = loaded(VISITS, missing="drop", **PERSONS)
    np.testing.assert_array_equal(table.response, [1, 2, 3, 4])
    assert table.attributes == ("age",)
    assert table.persons.of_row.tolist() == [0, 1, 0, 2]
    assert (table.units, table.n, table.dropped, table.beyond_limit) == (3, 9, 2, 1)
    assert table.leaks == ()  # n is the number of persons times three, whatever is missing


def test_a_sample_of_persons_has_all_their_rows(loaded: Any) -> None:
    table = loaded(VISITS, missing="drop", sample_n=2, **PERSONS)
    assert (table.units, table.n) == (2, 6)
    whole = loaded(VISITS, missing="drop", **PERSONS)
    persons = [set(whole.response[whole.persons.of_row == person]) for person in range(3)]
    assert set(table.response) in [one | other for one in persons for other in persons if one != other]
    with pytest.raises(Refused, match=r"sample_n=4 needs more persons than dataset=table has: 3"):
        loaded(VISITS, missing="drop", sample_n=4, **PERSONS)


def test_persons_may_be_combined_with_bounds_from_the_data(loaded: Any) -> None:
    table = loaded(VISITS, missing="drop", **{**PERSONS, "bounds": "data"})
    assert table.attributes == ("age",)
    assert [leak.what for leak in table.leaks] == ["bounds_from_data"]


@pytest.mark.parametrize("suffix", [".dat", ".dat.gz", ".csv", ".csv.gz"])
def test_an_extract_is_a_table_of_the_variables_in_its_codebook(suffix: str, cps: Any, make: Make) -> None:
    pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")
    rows = cps.rows(40)
    rows[0]["WAGE"], rows[1]["SEX"], rows[2]["AGE"] = 99_999, 9, 0
    path = cps.write(rows, suffix=suffix)
    bounds = {
        "AGE": [0, 99],
        "SEX": {"levels": [1, 2], "nulls": [9]},
        "WAGE": {"low": 0, "high": 1_000, "nulls": [999.99]},
        "STATE": {"levels": [1, 2], "nulls": [60]},
        "INCTOT": [-1_000, 100_000],
    }
    options = {"path": str(path), "target": "INCTOT", "bounds": bounds, "missing": "drop"}
    options["attributes"] = ["AGE", "SEX", "WAGE", "STATE"]
    dataset = make("dataset", "table", **options)
    table = dataset.select(stream(0))
    complete = [row for row in rows[2:] if row["STATE"] != 60]
    states, sexes = (np.array([[row[name] == code for code in (1, 2)] for row in complete]) for name in ("STATE", "SEX"))
    ages, wages = ([row[name] for row in complete] for name in ("AGE", "WAGE"))
    np.testing.assert_array_equal(table.features, np.column_stack([states, ages, sexes, np.array(wages) / 100]))
    np.testing.assert_array_equal(table.response, [row["INCTOT"] for row in complete])
    first = dataset.fingerprint()
    cps.write([*rows[:-1], rows[0]], suffix=suffix)
    assert dataset.fingerprint() != first, "the data file counts, not only its codebook"


def test_the_fingerprint_follows_the_content_and_not_the_date(tmp_path: Path, make: Make) -> None:
    path, bounds = tmp_path / "people.csv", tmp_path / "people.yaml"
    path.write_text(GOOD)
    bounds.write_text("columns: {age: [0, 100]}\n")
    dataset = make("dataset", "table", path=str(path), bounds=str(bounds))
    first = dataset.fingerprint()
    os.utime(path, (1, 1))
    assert dataset.fingerprint() == first
    path.write_text(GOOD.replace("30,m", "31,m"))
    second = dataset.fingerprint()
    bounds.write_text("columns: {age: [0, 99]}\n")
    assert len({first, second, dataset.fingerprint()}) == 3


MANY = "".join(f"{index % 90},m,{index * index % 9_973}\n" for index in range(3_000))

BAD: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "no path": (GOOD, {"path": ""}, "The path of dataset=table must be a CSV or Parquet file"),
    "no file": (GOOD, {"path": "nowhere/people.csv"}, "There is no file 'nowhere/people.csv'."),
    "no target": (GOOD, {"target": ""}, "The target of dataset=table must be the name of a column"),
    "no bounds": (GOOD, {"bounds": None}, "The bounds of dataset=table must be declared"),
    "persons without a limit": (VISITS, {"person": "who"}, "must be set together"),
    "a limit without persons": (VISITS, {"rows_per_person": 2}, "must be set together"),
    "a row without a person": (VISITS.replace("c,", ","), PERSONS, "'who' of people.csv must name each row's person. Row 4"),
    "persons with bounds": (
        VISITS,
        {**PERSONS, "person": "age"},
        "'age' names persons, so it cannot be the target or have bounds",
    ),
    "a missing value of a later person": ("who,age,income\na,1,1\na,2,2\nb,,3\n", {**PERSONS, "rows_per_person": 1}, "row 3"),
    "one person": (VISITS.replace("b,", "a,").replace("c,", "a,"), {**PERSONS, "missing": "drop"}, "at least 2 persons"),
    "weights": (VISITS, {"weights": "who"}, "dataset.weights cannot be set. Survey weights are not supported"),
    "no bounds file": (GOOD, {"bounds": "no.yaml"}, "There is no bounds file 'no.yaml'."),
    "wrong delimiter": (GOOD.replace(",", ";"), {}, "has no ',' in its first row, but ';': set dataset.delimiter"),
    "no header": (f"30,{SECRET},1\n40,f,2\n", {}, "must name the columns"),
    "a header of texts": (f"{SECRET},b,c\n40,f,2\n", {}, "has none of the columns 'age', 'sex', 'income'"),
    "two equal names": ("age,age,income\n1,2,3\n", {}, "must differ. Got 'age' more than once"),
    "empty": ("", {}, "people.csv is empty"),
    "a header alone": ("age,sex,income\n", {}, "has no row below its header"),
    "a column that is not there": (
        GOOD,
        {"target": "incme"},
        "There is no column of people.csv named 'incme'. Did you mean income?",
    ),
    "an attribute that is not there": (
        GOOD,
        {"attributes": ["agee"]},
        "There is no column of people.csv named 'agee'. Did you mean age?",
    ),
    "text in a numeric column": (
        f"age,sex,income\n30,m,1\n{SECRET},f,2\n{SECRET},f,3\n",
        {},
        "The column 'age' of people.csv must hold numbers. Row 2 holds something else.",
    ),
    "infinite": ("age,sex,income\n30,m,1\n31,f,inf\n", {}, "must hold finite numbers. Row 2 holds an infinite one."),
    "a fraction": (
        "age,sex,income\n30,m,1\n30.5,f,2\n",
        {"bounds": {**BOUNDS, "age": {"low": 0, "high": 100, "kind": "integer"}}},
        "The column 'age' of people.csv is declared to hold whole numbers. Row 2 holds a fraction.",
    ),
    "another level": (
        f"age,sex,income\n30,m,1\n31,{SECRET},2\n",
        {},
        "The column 'sex' of people.csv must hold one of its levels 'f', 'm'. Row 2 holds something else.",
    ),
    "a long row": (
        f"age,sex,income\n30,m,1\n31,f,2,{SECRET}\n",
        {},
        "Row 2 of people.csv must have 3 columns, as its header has. Got 4",
    ),
    "not UTF-8": (
        b"age,sex,income\n30,m,1\n31,\xff,2\n",
        {},
        "must be a table in UTF-8 text, one line per row. Row 2 is not: dataset.encoding",
    ),
    "missing": (
        HOLES,
        {},
        "people.csv has missing values, the first in column 'age', row 2 (in all: 'age' 1, 'sex' 1, 'income' 1)",
    ),
    "all missing": ("age,sex,income\n,m,1\n,f,2\n", {"missing": "drop"}, "The column 'age' of people.csv has no values"),
    "none complete": ("age,sex,income\n,m,1\n3,,2\n", {"missing": "drop"}, "None of the 2 rows of people.csv is complete"),
    "constant": ("age,sex,income\n77,m,1\n77,f,2\n", {}, "The column 'age' of people.csv has the same value in every row"),
    "constant target": ("age,sex,income\n7,m,77\n8,f,77\n", {}, "The column 'income' of people.csv has the same value"),
    "one level only": ("age,sex,income\n7,m,1\n8,m,2\n", {}, "The column 'sex' of people.csv has the same value"),
    "all clipped": ("age,sex,income\n777,m,1\n888,f,2\n", {}, "has the same value in every row after clipping to its bounds"),
    "constant, bounds from the data": (
        "age,sex,income\n77,m,1\n77,f,2\n",
        {"bounds": "data"},
        "The column 'age' of people.csv has the same",
    ),
    "names, bounds from the data": (
        "name,income\n" + "".join(f"{SECRET}{index},{index}\n" for index in range(60)),
        {"bounds": "data"},
        "The column 'name' of people.csv has more than 50 different texts",
    ),
    "reversed bounds": (
        GOOD,
        {"bounds": {**BOUNDS, "age": [100, 0]}},
        "The bounds of column 'age' must be two finite numbers, the lower one",
    ),
    "one bound": (
        GOOD,
        {"bounds": {**BOUNDS, "age": [100]}},
        "The bounds of 'age' in dataset.bounds must be [low, high], levels, or ignore",
    ),
    "no numbers": (
        GOOD,
        {"bounds": {**BOUNDS, "age": ["a", "b"]}},
        "The bounds of 'age' in dataset.bounds must be numbers. Got 'a'",
    ),
    "a wrong key": (GOOD, {"bounds": {**BOUNDS, "age": {"lo": 1, "high": 2}}}, "named 'lo'. Did you mean low?"),
    "levels twice": (GOOD, {"levels": {"sex": ["f", "m"]}}, "The column 'sex' must have bounds or levels. Got both"),
    "one declared level": (GOOD, {"bounds": {**BOUNDS, "sex": {"levels": ["m"]}}}, "must be at least two different texts"),
    "a column without bounds": (GOOD, {"bounds": {"income": [0, 9]}}, "people.csv has columns without bounds: 'age', 'sex'."),
    "open bounds": (
        GOOD,
        {"bounds": {**BOUNDS, "age": {"low": "", "high": ""}, "income": {"low": None, "high": None, "kind": "integer"}}},
        "The bounds of 'age', 'income' are open: fill in low and high",
    ),
    "bounds without a column": (GOOD, {"bounds": {**BOUNDS, "hgt": [0, 9]}}, "There is no column of people.csv named 'hgt'."),
    "a truncated gzip": (
        gzip.compress((GOOD + MANY).encode())[:3_000],
        {"name": "p.csv.gz"},
        "p.csv.gz cannot be read: it is truncated",
    ),
    "no gzip": (GOOD, {"name": "p.csv.gz"}, "p.csv.gz cannot be read: it is truncated, or not what its name says"),
    "no Parquet": (GOOD, {"name": "p.parquet"}, "p.parquet is not a whole Parquet file"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_table_is_one_sentence_without_a_value(case: str, loaded: Any) -> None:
    content, options, words = BAD[case]
    with pytest.raises(Refused) as refusal:
        loaded(content, **options)
    assert words in str(refusal.value)
    assert SECRET not in str(refusal.value)
    assert "77" not in str(refusal.value)
    cause: BaseException | None = refusal.value
    while cause is not None:  # a traceback would print the whole chain
        assert SECRET not in str(cause)
        assert cause.__suppress_context__ or cause.__context__ is None
        cause = cause.__cause__


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("- a\n", "must have a key 'columns' that holds a mapping"),
        ("columns: {age: [0, 1}\n", "must be YAML. Reading it stopped at line 1."),
        ("columns: {age: [0, 1]}\ntraget: age\n", "named 'traget'. Did you mean target?"),
        ("columns: {age: [0, 1]}\nthreshold: much\n", "The threshold in"),
        ("columns: {age: [0, 1]}\nsensitive: age\n", "must be a list"),
        ("columns: {age: [0, 100], sex: {levels: [f, m]}, income: [0, 9]}\nsensitive: [sx]\n", "named 'sx'. Did you mean sex?"),
    ],
)
def test_a_wrong_bounds_file_is_refused(content: str, words: str, loaded: Any, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(content)
    with pytest.raises(Refused) as refusal:
        loaded(GOOD, bounds=str(tmp_path / "b.yaml"))
    assert words in str(refusal.value)


def test_a_wrong_value_far_down_has_its_row_number(loaded: Any) -> None:
    """Beyond the first of the chunks that are read: 400,000 rows are more than 8 MB."""
    lines = [f"{index % 90},{'fm'[index % 2]},{index % 40_000}.{index:010d}" for index in range(400_000)]
    lines[399_990] = f"{SECRET},f,2"
    text = "age,sex,income\n" + "\n".join(lines) + "\n"
    assert len(text) > 8 << 20
    with pytest.raises(Refused, match=r"must hold numbers\. Row 399991 holds something else"):
        loaded(text)


def singular() -> pandas.DataFrame:
    """Education and years of work and six make the age, exactly."""
    generator = np.random.default_rng(5)
    education, work = generator.integers(5, 20, 240), generator.integers(0, 40, 240)
    income = 1_000 * education + 300 * work + generator.normal(0, 3_000, 240)
    sex = np.where(generator.random(240) < 0.5, "f", "m")
    return pandas.DataFrame({"education": education, "work": work, "age": education + work + 6, "sex": sex, "income": income})


OWN: dict[str, Any] = {
    "dataset.target": "income",
    "dataset.bounds": {"education": [0, 25], "work": [0, 50], "age": [0, 100], "income": [0, 40_000]},
    "dataset.levels": {"sex": ["f", "m"]},
    "dataset.sensitive": ("sex",),
    "splits.repeats": 2,
    "splits.folds": 2,
}


@pytest.mark.parametrize("model", ["linear", "ridge", "logistic"])
def test_singular_designs_work_for_every_mechanism_that_ships(model: str) -> None:
    ours = [entry for entry in registry().entries if entry.plugin.distribution == "dp-regression-bench"]
    shipped = [entry.name for entry in ours if entry.kind == "mechanism" and entry.health == "ok"]
    classes = {"dataset.threshold": 20_000} if model == "logistic" else {}
    options = {**OWN, "dataset.path": singular(), **classes}
    frame = dpbench.sweep(options, dataset="table", model=model, mechanism=sorted(shipped), engine="serial", record=False).full
    assert list(frame["reason"][frame["state"] == "failed"]) == []
    ran = frame[frame["state"] == "run"]
    assert {"fm", "dpba", "no_privacy"} <= set(ran["mechanism"])
    primary = "error_rate" if model == "logistic" else "rmse"
    assert np.isfinite(ran[f"utility/{primary}_median"]).all()


def test_a_frame_is_sent_to_workers_and_named_by_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows are the same cell, wherever the frame comes from; workers read them from a file that only we may open,
    and that is gone when the sweep has ended."""
    seen: list[tuple[Path, int, int]] = []
    remove_frames = data_frames.remove_frames

    def looked_at() -> None:
        if variable := os.environ.get("DPBENCH_FRAMES"):  # not at the exit of the tests, for which this is registered as well
            folder = Path(variable)
            seen.append((folder, folder.stat().st_mode & 0o077, len(list(folder.iterdir()))))
        remove_frames()

    monkeypatch.setattr(data_frames, "remove_frames", looked_at)
    options = {**OWN, "dataset.path": singular()}
    grid: dict[str, Any] = {"dataset": "table", "mechanism": ["fm", "dpba"], "record": False}
    local = dpbench.sweep(options, engine="local", **grid).full
    assert (local["state"] == "run").all()
    serial = dpbench.sweep({**options, "dataset.path": singular().copy()}, engine="serial", **grid).full
    pandas.testing.assert_series_equal(local["utility/rmse_median"], serial["utility/rmse_median"])
    assert [(mode, files) for _, mode, files in seen] == [(0, 1), (0, 1)]
    assert not any(folder.exists() for folder, _, _ in seen)


def test_a_frame_of_another_program_is_refused() -> None:
    with pytest.raises(Refused, match="was passed to another program"):
        dpbench.sweep({**OWN, "dataset.path": "frame:0123"}, dataset="table", record=False)


def test_a_frame_of_mixed_types_is_refused_without_its_values() -> None:
    frame = singular().astype({"age": object})
    frame.loc[3, "age"] = SECRET
    with pytest.raises(
        Refused, match=r"The column 'age' of DataFrame must hold numbers\. Row 4 holds something else\."
    ) as refusal:
        dpbench.sweep({**OWN, "dataset.path": frame}, dataset="table", record=False)
    assert SECRET not in str(refusal.value)


@pytest.mark.skipif(not EXCERPT.is_file(), reason="the excerpt is not on this machine")
def test_a_real_table_with_missing_values_and_codes_runs() -> None:
    names = ["AGEP", "SEX", "MSP", "EDU", "OWN_RENT", "NOC", "DPHY"]
    levels = {"SEX": [1, 2], "MSP": [1, 2, 3, 4, 5, 6], "OWN_RENT": [0, 1, 2], "DPHY": [1, 2]}
    options = {
        "dataset.path": str(EXCERPT),
        "dataset.target": "PINCP",
        "dataset.bounds": {"AGEP": [0, 99], "EDU": [1, 12], "NOC": [0, 10], "PINCP": [0, 200_000]},
        "dataset.levels": levels,
        "dataset.attributes": tuple(names),
        "dataset.nulls": ("N",),
        "dataset.missing": "drop",
        "splits.repeats": 2,
    }
    (row,) = dpbench.sweep(options, dataset="table", mechanism="no_privacy", record=False).full.to_dict("records")
    assert row["state"] == "run", row["reason"]
    assert row["dpbench.leaks"] == "rows_dropped"
    assert 20_000 < 27_253 - int(row["dpbench.rows_dropped"]) < 23_006  # 4,247 have no income
    assert 0.15 < row["utility/r2_median"] < 0.45


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"path": "data/people.csv.gz"}, "table people"),
        ({"path": "people.csv", "title": "our staff"}, "table our staff"),
        ({"path": "frame:0123"}, "table"),
    ],
)
def test_a_table_is_called_by_its_file_or_its_title(options: dict[str, Any], name: str, make: Make) -> None:
    assert make("dataset", "table", **options).display_name == name


def test_codes_for_a_missing_value_may_come_as_a_list_from_python() -> None:
    frame = singular().assign(work=lambda table: table["work"].where(table.index > 9, -200.0))
    options = {**OWN, "dataset.path": frame, "dataset.missing": "drop"}
    for nulls in ([-200, "?"], ("-200",), -200):
        keys = {**options, "dataset.nulls": nulls}
        row = dpbench.sweep(keys, dataset="table", mechanism="no_privacy", record=False).full.iloc[0]
        assert (row["state"], int(row["dpbench.rows_dropped"]), row["dataset"]) == ("run", 10, "table")
