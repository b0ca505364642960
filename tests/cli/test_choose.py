"""The subcommand ``choose``: its keys, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.cli.choose import arguments

BOUNDS = """
target: wage
columns:
  age: {low: 18, high: 70, typical: 40, spread: 10}
  wage: {low: 0, high: 100, unit: USD}
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.yaml").write_text(BOUNDS)
    Path("people.csv").write_text("age;wage\n" + "20;30\n" * 400)


def test_keys_are_the_arguments_of_dpbench_choose() -> None:
    keys = (
        "rows=8,000",
        "dataset.bounds=p.yaml",
        "target_error=10%",
        "r_squared=0.3..0.7",
        "mechanism=best,ssp",
        "model.penalty=1",
    )
    assert arguments(keys) == {
        "rows": 8000,
        "bounds": "p.yaml",
        "target": "",
        "target_error": 0.1,
        "r_squared": (0.3, 0.7),
        "mechanism": ("best", "ssp"),
        "model": {"name": "linear", "penalty": 1.0},
    }
    assert "rows" not in arguments(("rows=?", "epsilon=1"))
    assert arguments(("dataset.path=p.csv", "dataset.header=false"))["dialect"] == {"header": False}


def test_an_answer_ends_with_the_command_that_follows(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["choose", "dataset.path=people.csv", "dataset.bounds=people.yaml", "dataset.delimiter=;", "mechanism=ssp"]
    assert main([*asked, "target_error=20%"]) == 0
    out = capsys.readouterr().out
    assert "400 rows" in out
    assert "No row was read" in out
    assert out.splitlines()[-1].startswith("  python -m dpbench release mechanism=ssp ")
    assert " dataset.path=people.csv dataset.bounds=people.yaml 'dataset.delimiter=;' dataset.target=wage " in out
    assert main(["choose", "epsilon=1", "rows=?", "dataset.bounds=people.yaml", "target_error=20%", "mechanism=ssp"]) == 0
    assert "rows are enough" in capsys.readouterr().out


@pytest.mark.parametrize(
    "keys",
    [
        (),
        ("rows=100",),
        ("rows=many", "target_error=10%"),
        ("rows=-5", "target_error=10%"),
        ("rows=100", "target_error=ten"),
        ("rows=100", "target_error=110%"),
        ("rows=100", "dataset.path=people.csv", "target_error=10%"),
        ("dataset.path=nowhere.csv", "target_error=10%"),
        ("rows=100", "target_error=10%", "r_squared=0.1..0.2..0.3"),
        ("rows=100", "target_error=10%", "r_squared=2"),
        ("rows=100", "target_error=10%", "model=nothing"),
        ("rows=100", "target_error=10%", "dataset=wine"),
        ("rows=100", "target_error=10%", "dataset.target=income"),
        ("rows=100", "target_error=10%", "color=red"),
    ],
)
def test_wrong_keys_are_one_sentence_and_exit_code_2(keys: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["choose", "dataset.bounds=people.yaml", *keys]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
