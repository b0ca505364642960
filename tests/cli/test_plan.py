"""The subcommand ``plan``."""

from __future__ import annotations

import re
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


def test_cells_that_differ_in_one_number_stand_in_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    epsilons = [str(number) for number in range(1, 9)]
    assert main(["plan", "mechanism=fm,dpba", f"epsilon={','.join(epsilons)}", "splits.folds=2,3", *SMALL]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(rows) == 4
    assert all("│ 1, 2, 3, … 8 │" in row and row.rstrip("│").rstrip().endswith("8") for row in rows)


def test_names_never_share_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "mechanism=fm,dpba,dpme", "epsilon=1", *SMALL]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]) == 3


def test_a_plan_knows_what_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mechanism=fm", *SMALL]) == 0
    assert main(["plan", "mechanism=fm,dpba", *SMALL]) == 0
    assert "1 cell to run, 1 already recorded, 0 pruned." in capsys.readouterr().out


def test_a_plan_says_how_long_its_work_takes_and_what_of_it_is_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ("mechanism=fm,dpba", "epsilon=1,2", "audit.level=replay", *SMALL)
    assert main(["plan", *grid]) == 0
    before = " ".join(capsys.readouterr().out.split())
    assert re.search(r"3 work units and 4 audits, about [\d.]+ s on one core, and [\d.]+ s to record the cells\.", before)
    assert "Never measured on this machine, and so only guessed: fm on linear and dpba on linear." in before
    assert main(["-m", *grid]) == 0
    capsys.readouterr()
    assert main(["plan", *grid, "seed=1"]) == 0
    assert "Never measured" not in capsys.readouterr().out


def test_a_plan_says_the_grid_and_the_memory_of_each_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "mechanism=fm", "dataset=gaussian", "dataset.n=3000000", "dataset.d=2", "splits.repeats=2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "gaussian: 3,000,000 rows of 2 columns, values are multiples of 2^-16." in out
    assert "A process takes about 0.22 GB to load it, and 0.0 MB for the sums of 1 repeat." in out


def test_a_streamed_table_needs_no_memory_for_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "it.csv").write_text("x,y\n" + "0.25,0.5\n0.75,0.25\n" * 20_000)
    bounds = "dataset.bounds={x:[0,1],y:[0,1]}"
    keys = ["dataset=table", f"dataset.path={tmp_path / 'it.csv'}", "dataset.target=y", bounds, "dataset.stream=true"]
    assert main(["plan", *keys, "splits=holdout", "splits.by=blocks", "splits.repeats=1"]) == 0
    assert "A process reads it in chunks, and takes 0.0 MB for the sums of 1 repeat." in " ".join(capsys.readouterr().out.split())


def test_columns_without_end_are_refused_before_they_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "mechanism=fm", "dataset=gaussian", "dataset.n=1000", "dataset.d=100000"]) == 2
    assert "products of 100,000 columns, for the 5 parts of one repeat, would take 3,200 GB" in capsys.readouterr().err


def test_workers_are_predicted_to_take_less_time_than_one_core(capsys: pytest.CaptureFixture[str]) -> None:
    """Not half of it: the table is loaded by each, and a unit cannot be split."""
    grid = ("mechanism=dpme", "epsilon=1,2,3,4", "dataset=census", "dataset.attributes=14")
    assert main(["plan", *grid, "audit.level=none", "engine=local", "engine.workers=2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    alone, together = (float(seconds) for seconds in re.findall(r"about ([\d.]+) s", out))
    assert alone / 2 <= together < alone


def test_a_typo_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "mechanism=fmm"]) == 2
    assert "Did you mean fm" in capsys.readouterr().err
