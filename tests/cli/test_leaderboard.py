"""The subcommand ``leaderboard``: a stranger's mechanism next to scores that are there, without running the others."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.report.leaderboard.scores import Score, write_scores

pytestmark = [
    pytest.mark.usefixtures("study"),
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"),
]

PLUGIN = '''
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dpbench import Fit, Mechanism, Paper, hookimpl, option
from dpbench.privacy.noise import laplace


@dataclass(frozen=True)
class Mine(Mechanism):
    """Release a share of what the functional mechanism releases.

    Guarantee: ε-DP.
    """

    name: ClassVar[str] = "mine"
    guarantee: ClassVar[str] = "ε-DP"
    needs: ClassVar[frozenset[str]] = frozenset({"polynomial"})
    shrink: float = option(1.0, low=0, high=1, help="the factor of the weights")

    def fit(self, curator, problem, budget):
        objective = problem.polynomial()
        noise = laplace(objective.l1_bound("tight"), budget.epsilon, objective.proof("tight"))
        noisy = objective.quadratic(curator.release(objective, noise), problem.n)
        return Fit.good(self.shrink * problem.minimise(problem.regularised(noisy).trimmed()))


@hookimpl
def dpbench_mechanisms():
    return [Mine]


@hookimpl
def dpbench_papers():
    return [Paper("a_study", "A study", Path(__file__).parent)]
'''
PRESET = """
preset: {title: A study}
hydra:
  sweeper:
    params:
      mechanism: fm,dpba
      mechanism.repair: trim,floor
      model: linear
      dataset: wine,gaussian
      epsilon: 0.001,100
      budget: matched
      splits.repeats: 2
"""


@pytest.fixture
def study(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of two tables in the drop-in folder, which has the scores of two mechanisms and is found before the shipped one."""
    folder = tmp_path / "plugins"
    (folder / "presets").mkdir(parents=True)
    (folder / "dropped.py").write_text(PLUGIN)
    (folder / "presets" / "linear.yaml").write_text(PRESET)
    made = {"state": "run", "guarantee": "sound", "runs": 10, "error_mean_predictor": 0.2, "error_no_privacy": 0.1}
    lost = {"good": 0.3, "poor": 0.9}
    scores = [
        Score("linear", table, name, epsilon, share_lost=share, share_lost_low=share, share_lost_high=share, **made)
        for name, share in lost.items()
        for table in ("wine", "gaussian")
        for epsilon in (0.001, 100.0)
    ]
    write_scores(scores, folder / "scores.csv")
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(folder))


def recorded(folder: Path) -> list[str]:
    """Return the mechanisms that the store has a cell of."""
    with closing(sqlite3.connect(f"file:{folder / 'mlflow.db'}?mode=ro", uri=True)) as database:
        return sorted(name for (name,) in database.execute("select value from params where key = 'mechanism'"))


def test_a_strangers_row_stands_next_to_the_others_which_do_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """At ε = .001 noise drowns the rows; at 100 nothing is lost: the stranger is last there and first here."""
    assert main(["leaderboard", "mechanism=mine"]) == 0
    out = capsys.readouterr().out
    assert "Linear regression: 4 cells on 2 tables" in out
    (row,) = (line for line in out.splitlines() if "* mine" in line)
    low, high = re.findall(r"(\d+) %", row)[:2]
    assert (int(low), int(high) > 90) == (0, True)
    assert "claimed (4 of 4 cells)" in row, "this session audits nothing"
    assert re.search(r"good .* 70 % ", out)
    assert re.search(r"poor .* 10 % ", out)
    assert recorded(tmp_path) == ["mine"] * 4
    assert "were made with other rows" in out, "the scores above are invented"
    assert main(["leaderboard", "mechanism=mine"]) == 0
    assert recorded(tmp_path) == ["mine"] * 4, "what is recorded does not run again"


def test_options_are_part_of_the_name_and_a_name_that_is_there_already_is_marked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "plugins" / "scores.csv"
    path.write_text(path.read_text().replace("poor", "mine (shrink=0.5)"))
    assert main(["leaderboard", "mechanism=mine", "mechanism.shrink=0.5", "tables=wine", "epsilon=100"]) == 0
    out = capsys.readouterr().out
    assert "1 cell on 1 table" in out
    assert "* mine (shrink=0.5) (new)" in out
    assert "good" in out
    assert recorded(tmp_path) == ["mine"]


def test_an_epsilon_at_which_nothing_is_shipped_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["leaderboard", "mechanism=mine", "tables=wine", "epsilon=7"]) == 0
    assert "No shipped score is at ε = 7, so ranks say nothing there: the leaderboard has ε = " in capsys.readouterr().out


def test_without_a_mechanism_the_scores_are_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["leaderboard"]) == 0
    assert "good" in capsys.readouterr().out
    assert not (tmp_path / "mlflow.db").exists()


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["tables=wine"], "so it must know which one to add"),
        (["mechanism=mine", "dataset=wine"], "has tables of its own, of which tables=… takes some. Got dataset=wine"),
        (["mechanism=mine", "tables=wien"], "no table on the leaderboard named 'wien'"),
        (["mechanism=mine", "model=lasso"], "no model on the leaderboard named 'lasso'"),
        (["mechanism=objectiv"], "There is no mechanism named 'objectiv'"),
    ],
)
def test_mistakes_are_refused_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, overrides: list[str], sentence: str
) -> None:
    assert main(["leaderboard", *overrides]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "mlflow.db").exists()


def test_a_mechanism_that_no_epsilon_changes_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["leaderboard", "mechanism=no_privacy"]) == 2
    assert "no_privacy does not depend on it" in capsys.readouterr().err
    assert not (tmp_path / "mlflow.db").exists()
