"""The subcommand ``plan``."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")]

SMALL = ("dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2")


def test_a_plan_lists_every_cell_and_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["plan", "mechanism=fm,dpba", "model=linear,robust", *SMALL]) == 0
    out = capsys.readouterr().out
    assert "2 cells to run, 0 already recorded, 2 pruned." in out
    assert "Pruned: fm does not fit robust" in out
    assert list(tmp_path.iterdir()) == []


def test_a_plan_knows_what_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mechanism=fm", *SMALL]) == 0
    assert main(["plan", "mechanism=fm,dpba", *SMALL]) == 0
    assert "1 cell to run, 1 already recorded, 0 pruned." in capsys.readouterr().out


def test_a_typo_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "mechanism=fmm"]) == 2
    assert "Did you mean fm" in capsys.readouterr().err
