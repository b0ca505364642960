"""The figures of a leaderboard are written for any number of mechanisms, the same bytes each time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.report.leaderboard.diagrams import save_diagrams
from dpbench.report.leaderboard.scores import Score
from dpbench.report.leaderboard.tournament import Tournament

FILES = ["linear_epsilon.pdf", "linear_epsilon.png", "linear_ranks.pdf", "linear_ranks.png"]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_figures_are_written_for_few_and_many(score: Callable[..., Score], tmp_path: Path, count: int) -> None:
    scores = [score(f"m{n} (option={n})", n / 10, f"t{t}", eps) for n in range(count) for t in range(6) for eps in (0.1, 1.0)]
    assert save_diagrams("linear", Tournament(tuple(scores)), tmp_path) == ["linear_ranks", "linear_epsilon"]
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    save_diagrams("linear", Tournament(tuple(scores)), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_without_a_game_there_is_no_figure(score: Callable[..., Score], tmp_path: Path) -> None:
    assert save_diagrams("linear", Tournament((score("a", None),)), tmp_path) == []
