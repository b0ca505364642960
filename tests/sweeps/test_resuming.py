"""Cells of a private table are recognised by machines that share a digest key, and by no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.cells.unit_runner import run_unit

OPTIONS = ["dataset=table", "dataset.path=people.csv", "dataset.target=y", "dataset.bounds={a:[0,1],y:[0,1]}"]
COMMAND = ["-m", "mechanism=fm,no_privacy", *OPTIONS, "splits.repeats=2", "splits.folds=2"]
HIDDEN = "Note: 2 cells like these were recorded under another digest key"


@pytest.fixture
def people(home: Any) -> Path:
    frame = pandas.DataFrame(np.random.default_rng(0).uniform(0, 1, (60, 2)), columns=["a", "y"])
    path: Path = home.folder / "people.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def change_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def change(digits: str) -> None:
        (tmp_path / f"key_{digits}").write_text(digits * 32)
        monkeypatch.setenv("DPBENCH_KEY_FILE", str(tmp_path / f"key_{digits}"))

    return change


def test_another_key_hides_cells_and_one_sentence_says_so(home: Any, people: Path, change_key: Any) -> None:
    change_key("aa")
    assert home.run(*COMMAND).counted == "Cells: 2 run."
    assert home.run(*COMMAND).counted.startswith("Cells: 0 run, 2 already recorded")
    change_key("bb")
    assert HIDDEN in " ".join(home.run("plan", *COMMAND[1:]).out.split())
    answer = home.run(*COMMAND)
    assert answer.counted == "Cells: 2 run."
    assert answer.out.count("another digest key") == 1
    assert HIDDEN in answer.out
    (note,) = {run.data.tags["mlflow.note.content"].count("another digest key") for run in home.runs("sweep")[1:]}
    assert note == 1
    again = home.run(*COMMAND)
    assert again.counted.startswith("Cells: 0 run, 2 already recorded")
    assert "another digest key" not in again.out, "nothing runs again"
    assert "another digest key" not in home.run(*COMMAND, "rerun=true").out
    other = home.run(*COMMAND, "epsilon=7")
    assert "another digest key" not in other.out, "no such cell was recorded"
    assert len({run.data.tags["dpbench.digest_key"] for run in home.runs()}) == 2
    assert len({run.data.tags["dpbench.key"] for run in home.runs()}) > 2


def test_a_public_table_needs_no_key(home: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_KEY_FILE", str(tmp_path / "no such file"))
    assert home.run("dataset=wine", "splits.repeats=2", "splits.folds=2").code == 0
    assert "dpbench.digest_key" not in home.runs()[0].data.tags


def test_a_wrong_key_file_is_one_sentence_and_nothing_is_written(home: Any, people: Path, change_key: Any) -> None:
    change_key("a")
    assert home.run(*COMMAND).refused("must hold at least 64 hexadecimal digits")
    assert home.files == ["mlflow.db", "people.csv"]


def test_workers_need_no_key(people: Path, planned: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on the key travels with the cells."""
    plan = planned(*OPTIONS, "splits.repeats=2")
    monkeypatch.setenv("DPBENCH_KEY_FILE", "no such file")
    (unit,) = plan.units()
    assert [result.error for result in run_unit(unit)] == [""]


def test_a_frame_has_the_name_that_the_key_gives_it(home: Any, people: Path, change_key: Any) -> None:
    """The recorded command and configuration hold this name."""
    frame, names = pandas.read_csv(people), []
    for digits in ("aa", "bb"):
        change_key(digits)
        options = {"dataset.path": frame, "dataset.target": "y", "dataset.bounds": {"a": [0, 1], "y": [0, 1]}}
        dpbench.sweep({**options, "splits.repeats": 2}, dataset="table")
        names.append(home.runs("sweep")[-1].data.tags["dpbench.command"].partition("frame:")[2][:32])
    assert len(set(names)) == 2
    assert all(len(name) == 32 for name in names)
