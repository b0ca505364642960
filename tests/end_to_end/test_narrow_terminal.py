"""At 60 columns, in any encoding, the tables of all commands stay readable: no number and no name is cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpbench.__main__ import main

WIDTH = 60
SMALL = (
    "dataset=gaussian",
    "dataset.n=60",
    "dataset.d=2",
    "splits.repeats=1",
    "audit.level=none",
    "mechanism=fm,output_perturbation",
)

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")]


def printed(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("arguments", "pieces"),
    [
        (("plan", *SMALL, "epsilon=0.1,12.5"), ["output_perturbation", "12.5", "1e-06", "1 x 5-fold", "gaussian"]),
        (("plan", *SMALL, "seed=1,2", "delta=1e-06,1e-07"), ["output_perturbation", "1e-07"]),
        (("leaderboard",), ["objective_perturbation", "mean rank: 2.22", "close to the best: 94 %", "verdict: sound"]),
        (("experiments", "zhang2012"), ["zhang2012/fig4_box", "cells: 96"]),
        (("plugins",), ["objective_perturbation", "health: ok"]),
        (("-m", *SMALL, "engine=serial", "mechanism.radius=1,12.345"), ["output_perturbation", "12.345"]),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, tuple) else "",
)
def test_nothing_is_cut(arguments: tuple[str, ...], pieces: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(arguments, capsys)
    assert "…" not in text
    for piece in pieces:
        assert piece in text, piece
    tables = [line for line in text.splitlines() if line.startswith(("┃", "│", "  "))]
    assert tables
    assert max(map(len, tables)) <= WIDTH


@pytest.mark.parametrize("width", [60, 100, 200])
def test_an_answer_of_choose_fits_the_terminal_and_its_command_stays_whole(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    Path("b.yaml").write_text("target: wage\ncolumns: {age: [18, 70], wage: {low: 0, high: 9000, typical: 4000, spread: 2000}}\n")
    text = printed(("choose", "rows=2000", "dataset.bounds=b.yaml", "target_rmse=1500", "mechanism=ssp"), capsys)
    *lines, command = text.splitlines()
    assert max(map(len, lines)) <= width
    assert command.startswith("  python -m dpbench release mechanism=ssp ")
    assert command.endswith(" out=model.json")
    assert "…" not in text
    assert "e+03" not in text
