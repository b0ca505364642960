"""The leaderboard's pages are those of the shipped scores, and one command makes them from a run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.experiments.presets import papers
from dpbench.report.leaderboard.page import html, markdown
from dpbench.report.leaderboard.scores import read_scores
from dpbench.report.leaderboard.tournament import tournaments

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results" / "leaderboard"
SHIPPED = next(paper.scores_file for paper in papers() if paper.name == "leaderboard")
STALE = "python scripts/leaderboard.py --pages writes it"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("leaderboard")


def test_the_pages_and_the_readme_are_those_of_the_shipped_scores(script: ModuleType) -> None:
    scores = read_scores(SHIPPED)
    assert (RESULTS / "scores.csv").read_bytes() == SHIPPED.read_bytes(), STALE
    assert (RESULTS / "index.md").read_text(encoding="utf-8") == markdown(scores, script.COMMAND), STALE
    assert (RESULTS / "index.html").read_text(encoding="utf-8") == html(scores, script.COMMAND), STALE
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert script.START in readme
    assert readme == script.with_answer(readme, scores), STALE
    for model in [model for model, tournament in tournaments(scores).items() if tournament.entries]:
        assert {path.name for path in RESULTS.glob(f"{model}_*")} == {
            f"{model}_{what}.{kind}" for what in ("ranks", "epsilon") for kind in ("png", "pdf")
        }


def test_a_run_is_written_and_what_is_recorded_needs_no_run(
    script: ModuleType, alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ["mechanism=dpba,cdp_irls", "epsilon=1,10", "splits.repeats=2", "dataset.table=concrete,airfoil"]
    monkeypatch.setattr(sys, "argv", ["leaderboard.py", "--only", "linear", "--out", "first", *keys])
    assert script.main() == 0
    scores = read_scores(tmp_path / "first" / "scores.csv")
    assert {score.mechanism for score in scores} == {"dpba (repair=trim)", "dpba (repair=floor)", "cdp_irls"}
    assert {(score.table, score.epsilon) for score in scores} == {(t, e) for t in ("airfoil", "concrete") for e in (1.0, 10.0)}
    assert "leaderboard/linear: 12 run" in capsys.readouterr().out
    # one more value of ε is not recorded: its games are not complete, and the others count
    keys[1] = "epsilon=1,10,3"
    monkeypatch.setattr(sys, "argv", ["leaderboard.py", "--only", "linear", "--recorded", "--out", "second", *keys])
    assert script.main() == 0
    assert (tmp_path / "second" / "scores.csv").read_bytes() == (tmp_path / "first" / "scores.csv").read_bytes()
    assert "12 resumed" in capsys.readouterr().out
