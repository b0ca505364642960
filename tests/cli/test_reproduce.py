"""The subcommand ``reproduce``: same bits, drift, or a refusal, by the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest

from dpbench.__main__ import main

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")]

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def runs_file(capsys: Capture) -> Path:
    """The recorded runs of a cell; its folder has the name of the run."""
    assert main(["mechanism=fm", "dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2"]) == 0
    capsys.readouterr()
    (file,) = Path().glob("mlartifacts/*/artifacts/runs.parquet")
    return file


def test_the_same_bits_are_exit_code_0(runs_file: Path, capsys: Capture) -> None:
    run_id = runs_file.parts[1]
    assert main(["reproduce", run_id[:7]]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"fm linear gaussian ε=1 ({run_id})"
    assert second.startswith("Same bits: all ")
    assert second.endswith("columns of 10 runs agree, weights included.")


def test_a_drift_is_exit_code_1_and_says_how_much_in_which_columns_and_which_versions(runs_file: Path, capsys: Capture) -> None:
    table = pyarrow.parquet.read_table(runs_file)
    place = table.column_names.index("utility/rmse")
    moved = [value.as_py() * (1 + 1e-3) for value in table["utility/rmse"]]
    pyarrow.parquet.write_table(table.set_column(place, "utility/rmse", [moved]), runs_file)
    record = json.loads((runs_file.parent / "cell.json").read_text())
    record["tags"]["dpbench.numpy"] = "0.1"
    (runs_file.parent / "cell.json").write_text(json.dumps(record))
    assert main(["reproduce", runs_file.parts[1]]) == 1
    out = capsys.readouterr().out
    assert "Drifted: 1 of" in out
    (row,) = [line for line in out.splitlines() if "utility/rmse" in line]
    assert "0.000999" in row
    assert "10 of 10" in row
    assert "Version that differs: NumPy, recorded 0.1, now " in out


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["abcdef"], ["abcdef", "seed=1"]])
def test_what_names_no_cell_is_exit_code_2(runs_file: Path, capsys: Capture, arguments: list[str]) -> None:
    assert main(["reproduce", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
