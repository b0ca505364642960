"""What a release is fitted on: all rows, loaded or streamed, and how many of them are public."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.dataset import Dataset
from dpbench.data.persons import Persons
from dpbench.registry.lookup import build
from dpbench.releases import release_data
from dpbench.releases.release_data import read_all_rows

LINEAR = build("model", {"name": "linear"})
FM = build("mechanism", {"name": "fm"})


def table(path: Path, stream: bool) -> Dataset:
    bounds = {"a": [0, 1], "b": [0, 1], "pay": [0, 1]}
    return build("dataset", {"name": "table", "path": str(path), "target": "pay", "bounds": bounds, "stream": stream})


def write_rows(path: Path, seed: int) -> None:
    rows = np.random.default_rng(seed).uniform(0, 1, (5000, 3)).round(3)
    lines = "".join(f"{a},{b},{pay}\n" for a, b, pay in rows.tolist())
    path.write_text(f"a,b,pay\n{lines}")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    write_rows(tmp_path / "people.csv", seed=0)
    return tmp_path / "people.csv"


def test_a_streamed_table_has_the_sums_of_the_loaded_one(people: Path) -> None:
    loaded, streamed = (read_all_rows(table(people, stream), LINEAR, [FM], 0) for stream in (False, True))
    np.testing.assert_array_equal(streamed.sample.moments.gram, loaded.sample.moments.gram)
    assert streamed.size == loaded.size == {"rows": 5000}
    assert streamed.n == loaded.n == 5000


def test_every_mechanism_must_be_able_to_read_a_streamed_table(people: Path) -> None:
    privr = build("mechanism", {"name": "privr"})
    read_all_rows(table(people, False), LINEAR, [FM, privr], 0)
    with pytest.raises(Refused, match=r"^privr needs the rows"):
        read_all_rows(table(people, True), LINEAR, [FM, privr], 0)


def test_where_persons_have_several_rows_the_persons_are_public_and_the_rows_are_not(people: Path) -> None:
    data = read_all_rows(table(people, False), LINEAR, [FM], 0)
    persons = Persons(np.arange(5000) // 3, count=2000, rows_each=3)
    assert replace(data, table=replace(data.table, persons=persons)).size == {"persons": 2000, "rows_per_person": 3}


@pytest.mark.parametrize(("stream", "reader"), [(False, "_loaded"), (True, "_streamed")])
def test_a_file_that_is_replaced_while_it_is_read_is_refused(
    people: Path, monkeypatch: pytest.MonkeyPatch, stream: bool, reader: str
) -> None:
    read = getattr(release_data, reader)

    def replace_and_read(*arguments: Any) -> Any:
        write_rows(people, seed=1)
        return read(*arguments)

    monkeypatch.setattr(release_data, reader, replace_and_read)
    with pytest.raises(Refused, match=r"^The file of table people was replaced while its rows were read"):
        read_all_rows(table(people, stream), LINEAR, [FM], 0)


def test_a_streamed_file_that_is_replaced_later_is_refused_when_it_is_read_again(people: Path) -> None:
    data = read_all_rows(table(people, True), LINEAR, [FM], 0)
    assert sum(len(rows.z) for rows in data.sample.chunks(0)) == 5000
    write_rows(people, seed=1)
    with pytest.raises(Refused, match="was replaced while its rows were read"):
        list(data.sample.chunks(0))


def test_an_error_of_a_dataset_is_refused_without_its_text() -> None:
    def select(_: np.random.Generator) -> None:
        raise ValueError("row 3 is 17")

    gaussian = build("dataset", {"name": "gaussian"})
    facts = {"name": "broken", "display_name": "broken", "synthetic": False, "source": lambda: "rows"}
    broken = SimpleNamespace(**facts, options=gaussian.options, redrawn=lambda: False, streams=lambda: False, select=select)
    with pytest.raises(Refused) as refusal:
        read_all_rows(broken, LINEAR, [FM], 0)
    assert str(refusal.value) == "The dataset broken cannot be loaded: ValueError."
