"""The subcommand ``predict``: what it writes, and what it refuses before it writes anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from release_factory import make_release

from dpbench.__main__ import main
from dpbench.releases.release_file import load_release
from dpbench.releases.released_intervals import ReleasedIntervals


@pytest.fixture(autouse=True)
def _model(alone: None, tmp_path: Path) -> None:
    """A model of two columns with intervals, and two new rows."""
    names = ("intercept", "a")
    rows = {name: {"estimate": 0.5, "standard_error": 0.1, "low": 0.3, "high": 0.7} for name in names}
    section = ReleasedIntervals(
        "delta", "population", 0.95, rows, True, 100, ((0.01, 0.0), (0.0, 0.01)), 0.02, 0.0, False, (), "A sentence."
    )
    make_release(weights=dict.fromkeys(names, 0.5), inference=section).save(tmp_path / "model.json")
    (tmp_path / "new.csv").write_text("a;name\n1,5;x\n99;y\n")


def test_predictions_are_written_as_the_model_makes_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "model.json", "new.csv", "delimiter=;", "decimal=,"]) == 0
    assert capsys.readouterr().out == "Written: predictions.csv (2 rows)\n"
    assert (
        pandas.read_csv("predictions.csv")["predicted_y"].tolist() == load_release("model.json").predict({"a": [1.5, 4]}).tolist()
    )
    dialect = ("delimiter=semicolon", "decimal=,")
    assert main(["predict", "model.json", "new.csv", "interval=0.9", "out=o.parquet", *dialect]) == 0
    frame = pandas.read_parquet("o.parquet")
    assert list(frame) == ["predicted_y", "predicted_y_low", "predicted_y_high"]
    assert (frame["predicted_y_low"] < frame["predicted_y_high"]).all()


def test_what_a_probability_is_of_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    make_release(kind="binary", threshold=5.0).save(tmp_path / "classes.json")
    assert main(["predict", "classes.json", "new.csv", "delimiter=;", "decimal=,"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "predicted_y is the probability that y is above 5."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model.json"], "Missing argument"),
        (["none.json", "new.csv"], "cannot be read"),
        (["new.csv", "new.csv"], "is not a release"),
        (["model.json", "none.csv"], "There is no file 'none.csv'"),
        (["model.json", "new.csv", "outs=x"], "no key of predict named 'outs'"),
        (["model.json", "new.csv", "interval=x"], "must be a probability"),
        (["model.json", "new.csv", "interval=95", "delimiter=;", "decimal=,"], "must be between 0 and 1"),
        (["model.json", "new.csv"], "set delimiter=';'"),
        (["model.json", "new.csv", "out=new.csv", "overwrite=true"], "a file that is read"),
        (["model.json", "new.csv", "out=model.json", "overwrite=true"], "a file that is read"),
    ],
)
def test_a_wrong_request_is_refused_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str
) -> None:
    assert main(["predict", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "new.csv"]


def test_an_existing_file_is_replaced_only_on_request(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "predictions.csv").write_text("precious")
    arguments = ["predict", "model.json", "new.csv", "delimiter=;", "decimal=,"]
    assert main(arguments) == 2
    assert "overwrite=true" in capsys.readouterr().err
    assert (tmp_path / "predictions.csv").read_text() == "precious"
    assert main([*arguments, "overwrite=true"]) == 0


def test_an_older_file_without_own_units_is_read(tmp_path: Path) -> None:
    released = load_release(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text()
    assert "weights_in_own_units" in text
    assert replace(released) == released
