"""CSV and Parquet files give the same columns; a file that cannot be read is refused without quoting a row."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from dpbench.base.errors import Refused
from dpbench.data.column_format import NUMBER, TEXT
from dpbench.files.dialects import Dialect
from dpbench.files.parquet_files import Parquet
from dpbench.files.table_files import Csv, open_table

SECRET = "Zq7Secret"
PEOPLE = "age, sex ,income\n30,f,1.5\n41,m,\n,f,2\n"


def read_all(path: Path) -> dict[str, np.ndarray]:
    file = open_table(str(path))
    return file.read(dict.fromkeys(file.names, TEXT))


def test_csv_compressed_csv_and_parquet_give_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(PEOPLE)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(PEOPLE.encode()))
    (tmp_path / "c.csv").write_bytes(b"\xef\xbb\xbf" + PEOPLE.replace(",", ";").encode())
    table = pyarrow.table({"age": [30, 41, None], "sex": ["f", "m", "f"], "income": [1.5, None, 2.0]})
    parquet.write_table(table, tmp_path / "d.parquet")
    for name, delimiter in (("a.csv", ","), ("b.csv.gz", ","), ("c.csv", ";"), ("d.parquet", ",")):
        file = open_table(str(tmp_path / name), Dialect(delimiter))
        assert isinstance(file, Parquet if name.endswith("parquet") else Csv)
        assert (file.label, file.names) == (name, ("age", "sex", "income"))
        columns = file.read({"income": NUMBER, "sex": TEXT, "age": NUMBER})
        np.testing.assert_array_equal(columns["age"], [30, 41, np.nan])
        np.testing.assert_array_equal(columns["income"], [1.5, np.nan, 2])
        assert columns["sex"].tolist() == ["f", "m", "f"]


def test_columns_that_do_not_exist_are_named_and_a_first_row_of_data_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{SECRET},b\n1,2\n")
    file = open_table(str(tmp_path / "a.csv"))
    with pytest.raises(Refused, match=r"no column of a\.csv named 'bb'\. Did you mean b"):
        file.check_columns(["b", "bb"])
    with pytest.raises(Refused, match=r"has none of the columns 'x', 'y'\. The first row must contain") as refusal:
        file.check_columns(["x", "y"])
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "a.csv is empty."),
        (b"age,sex\n", "a.csv has no row below its header."),
        (b"age,age\n1,2\n", "The column names of a.csv must differ. Got 'age' more than once."),
        (
            b"1,2\n3,4\n",
            "The first row of a.csv must name the columns. Got a number or empty names instead: dataset.header=false",
        ),
        (b"age;sex\n1;2\n", "a.csv has no ',' in its first row, but ';': set dataset.delimiter=';'."),
        (b"age,sex\n1,2\n3,4,Zq7Secret\n", "Row 2 of a.csv must have 2 columns, as its header has. Got 3 instead."),
        (b"age,sex\n1,Zq7Secret\xff\n", "a.csv must be a table in UTF-8 text, one line per row."),
        (b"\xffage,sex\n1,2\n", "a.csv must be text in UTF-8. Its first row is not: dataset.encoding=latin-1 reads"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(Refused) as refusal:
        read_all(tmp_path / "a.csv")
    assert sentence in str(refusal.value)
    assert SECRET not in str(refusal.value)


def test_other_files_are_refused_too(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text(SECRET)
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(PEOPLE.encode() * 1000)[:80])
    for name, sentence in (
        ("no.csv", "There is no file"),
        ("a.parquet", "not a whole Parquet file"),
        ("torn.csv.gz", "cannot be"),
    ):
        with pytest.raises(Refused, match=sentence):
            open_table(str(tmp_path / name)).read({"age": NUMBER})


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n"])
def test_a_delimiter_is_one_character(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(PEOPLE)
    with pytest.raises(Refused, match="must be one character"):
        open_table(str(tmp_path / "a.csv"), Dialect(delimiter))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, None), (3, 7), (99, 100), (50, 10**6), (100, None)])
def test_rows_between_two_places_are_those_of_the_whole_file_with_their_numbers(
    name: str, first: int, last: int | None, tmp_path: Path
) -> None:
    table = pyarrow.table({"x": np.arange(100), "y": np.arange(100) ** 2})
    if name.endswith("csv"):
        csv.write_csv(table, tmp_path / name)
    else:
        parquet.write_table(table, tmp_path / name, row_group_size=7)
    file = open_table(str(tmp_path / name))
    assert file.count_rows() == 100
    chunks = list(file.chunks_between(["y"], first, last, most=4))
    starts = [chunk["y"].start for chunk in chunks]
    values = [chunk["y"].values(NUMBER) for chunk in chunks]
    assert max(map(len, values), default=0) <= 4
    assert np.concatenate([np.empty(0), *values]).tolist() == [float(row**2) for row in range(100)[first:last]]
    for start, part in zip(starts, values, strict=True):
        assert part[0] == start**2
