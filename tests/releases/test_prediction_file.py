"""Predictions of the rows of a file: those of the same cells from Python, written completely or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from release_factory import make_release

from dpbench.base.errors import Refused
from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column
from dpbench.files import table_files
from dpbench.files.table_files import open_table
from dpbench.releases.prediction_file import predict_file
from dpbench.releases.release_file import Release


@pytest.fixture
def released() -> Release:
    """Return a linear model of a wage: it rises with age, and by 2 in the north. A missing town is the north."""
    return make_release(
        columns=(Column("age", 0, 4), *(Column(f"town={level}", 0, 1, group="town") for level in ("north", "south"))),
        target=Column("wage", 0, 10),
        weights={"intercept": 0.0, "age": 0.5, "town=north": 0.4, "town=south": 0.0},
        formats={"town": ColumnFormat(("north", "south"), missing="north"), "age": ColumnFormat(nulls=("99",))},
    )


def write(folder: Path, text: str) -> Any:
    (folder / "new.csv").write_text(text)
    return open_table(str(folder / "new.csv"), option="")


def test_a_file_is_predicted_as_its_cells_from_python(released: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the rows, also from several chunks; other columns are ignored, and values beyond the bounds clipped."""
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 64)
    frame = pandas.DataFrame({"x": ["?"] * 20, "town": ["south", "north"] * 10, "age": np.linspace(-1, 5, 20)})
    rows = write(tmp_path, frame.to_csv(index=False))
    assert predict_file(released, rows, tmp_path / "out.csv") == 20
    written = pandas.read_csv(tmp_path / "out.csv")
    assert list(written) == ["predicted_wage"]
    np.testing.assert_array_equal(written["predicted_wage"], released.predict(frame))
    frame.to_parquet(tmp_path / "new.parquet")
    predict_file(released, open_table(str(tmp_path / "new.parquet")), tmp_path / "out.parquet")
    np.testing.assert_array_equal(pandas.read_parquet(tmp_path / "out.parquet"), written)


def test_a_missing_value_is_what_its_declaration_says(released: Release, tmp_path: Path) -> None:
    predict_file(released, write(tmp_path, "age,town\n1,\n1,north\n"), tmp_path / "out.csv")
    assert pandas.read_csv(tmp_path / "out.csv")["predicted_wage"].nunique() == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,town\n1,north\n2,east\n", r"'town' of new.csv must hold one of its levels 'north', 'south'\. Row 2 holds 'east'"),
        ("age,town\n1,north\n99,south\n", "'age' of new.csv must have no missing values. Got 1 of them, the first in row 2"),
        ("age,town\n1,north\nold,south\n", "must hold numbers. Row 2 holds something else"),
        ("age,x\n1,north\n", "needs the columns age, town. Missing: town"),
        ("a;town\n1;north\n", "set delimiter=';'"),
        ("a,b\n1,north\n", "needs the columns age, town. Missing: age, town"),
        ("age,town\n", "no row below its header"),
    ],
)
def test_rows_that_cannot_be_predicted_are_refused_and_nothing_is_written(
    released: Release, tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(Refused, match=words):
        predict_file(released, write(tmp_path, text), tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_a_release_without_intervals_says_why(released: Release, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No intervals"):
        predict_file(released, write(tmp_path, "age,town\n1,north\n"), tmp_path / "out.csv", 0.95)


def test_an_existing_file_is_replaced_only_on_request(released: Release, tmp_path: Path) -> None:
    rows, out = write(tmp_path, "age,town\n1,north\n"), tmp_path / "out.csv"
    out.write_text("precious")
    with pytest.raises(FileExistsError):
        predict_file(released, rows, out)
    assert out.read_text() == "precious"
    assert predict_file(released, rows, out, overwrite=True) == 1
    assert "predicted_wage" in out.read_text()


def test_a_weight_in_own_units_is_what_a_unit_adds(released: Release) -> None:
    own = replace(
        released, columns=released.columns[:1], weights={"intercept": 0.0, "age": 0.5}, formats={}
    ).weights_in_own_units()
    assert own == pytest.approx({"intercept": 5.0, "age": 1.25})
