"""A score is made of a cell's runs, and a file of scores gives the same scores back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cell_factory import make_cell

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord
from dpbench.report.leaderboard.scores import (
    Score,
    counted,
    median_interval,
    quantile,
    read_scores,
    score_of,
    way,
    write_scores,
)


def cell_of(mse: Any, **more: Any) -> CellRecord:
    """A cell with these errors, between a non-private fit at 1 and a mean predictor at 3."""
    mse = np.asarray(mse, dtype=float)
    references = {"reference/no_privacy/mse": np.ones(len(mse)), "reference/mean_predictor/mse": np.full(len(mse), 3.0)}
    medians = {f"{name}_median": float(values[0]) for name, values in references.items()}
    folds = {"repeat": np.arange(len(mse)), "fold": np.zeros(len(mse), dtype=int)}
    sizes = {"n_train": np.full(len(mse), 80), "n_test": np.full(len(mse), 20)}
    utility = {"utility/mse": mse, "utility/share_lost": (mse - 1) / 2, "utility/ols_se": np.full(len(mse), np.nan)}
    runs = {**folds, **sizes, **utility, "weight/x1": mse, **more.pop("runs", {})}
    return make_cell(runs=runs, metrics=medians, **more)


def test_a_score_is_the_share_of_the_way_that_is_left() -> None:
    score = score_of(cell_of(np.linspace(1.4, 1.6, 101)))
    assert score.share_lost == pytest.approx(0.25)
    assert score.value == pytest.approx(0.75)
    assert score.gain == pytest.approx(2 / 3)
    assert (score.rows, score.columns, score.runs) == (100, 1, 101)
    low, high = score.interval
    assert low < score.value < high


def test_a_cell_worse_than_the_mean_predictor_counts_as_the_mean_predictor() -> None:
    assert score_of(cell_of([9.0] * 10)).value == 0
    assert score_of(cell_of([9.0] * 10)).interval == (0, 0)


def test_a_run_without_a_finite_error_is_the_worst_and_is_not_left_out() -> None:
    """Six of ten runs exploded: their median is infinite, although the others are perfect."""
    assert score_of(cell_of([1.0] * 4 + [math.nan] * 6)).value == 0
    assert score_of(cell_of([1.0] * 6 + [math.inf] * 4)).value == 1


def test_a_split_on_which_nothing_can_be_learned_is_left_out() -> None:
    shares = np.array([0.5, math.nan, 0.5])
    assert counted(shares, np.ones(3)).tolist() == [0.5, 0.5]
    assert counted(shares, np.array([1, 1, math.nan])).tolist() == [0.5, math.inf]
    assert counted(np.full(2, math.nan), np.ones(2)).tolist() == [math.inf]


def test_a_pruned_cell_has_a_reason_and_no_way() -> None:
    score = score_of(make_cell(error=None, state="pruned", reason="It does not fit."))
    assert (score.state, score.reason, score.value, score.interval) == ("pruned", "It does not fit.", 0, (0, 0))


def test_coefficients_are_measured_where_the_metric_is_recorded() -> None:
    errors = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    score = score_of(cell_of([1.0] * 4 + [math.nan], runs={"utility/ols_se": errors}))
    assert (score.ols_se_p20, score.ols_se, score.ols_se_p80) == (1, 3, 4)
    assert score_of(cell_of([1.0] * 5)).ols_se is None


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    """4000 samples of 100 exponential numbers: coverage is 96.5 % for the order statistics 40 and 61, give or take 1.2 points.

    Four standard deviations: fails by chance for one seed in 10,000.
    """
    samples = np.random.default_rng(5).exponential(size=(4000, 100))
    ends = np.array([median_interval(sample) for sample in samples])
    covered = np.mean((ends[:, 0] <= math.log(2)) & (math.log(2) <= ends[:, 1]))
    assert 0.952 < covered < 0.977


def test_too_few_runs_have_no_interval_and_quantiles_are_values() -> None:
    assert median_interval(np.arange(5.0)) == (-math.inf, math.inf)
    assert quantile(np.array([3.0, math.inf, 1.0, 2.0]), 0.5) == 2
    assert quantile(np.array([math.inf, math.inf, 1.0]), 0.5) == math.inf


@pytest.mark.parametrize(("lost", "value"), [(None, 0), (math.inf, 0), (1.5, 0), (1, 0), (0.25, 0.75), (-0.5, 1.5)])
def test_what_is_lost_and_the_way_add_up(lost: float | None, value: float) -> None:
    assert way(lost) == value


def test_a_file_gives_the_scores_back_in_one_order(score: Callable[..., Score], tmp_path: Path) -> None:
    scores = [score("b", 0.25), score("a", math.inf, reason='He said "no", twice'), score("c", None)]
    write_scores(scores, tmp_path / "one.csv")
    write_scores(scores[::-1], tmp_path / "other.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    assert read_scores(tmp_path / "one.csv") == [scores[1], scores[0], scores[2]]


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("model,table\nlinear,t1\n")
    with pytest.raises(Refused, match=r"mine\.csv must have the columns of a leaderboard"):
        read_scores(tmp_path / "mine.csv")


def test_a_file_from_before_failed_runs_were_counted_is_read(score: Callable[..., Score], tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    write_scores([score("a", 0.25, failed_share=0.02)], path)
    (header, line) = ([*text.split(",")] for text in path.read_text(encoding="utf-8").splitlines())
    at = header.index("failed_share")
    path.write_text("".join(",".join([*row[:at], *row[at + 1 :]]) + "\n" for row in (header, line)), encoding="utf-8")
    assert read_scores(path) == [score("a", 0.25)]


def test_the_share_of_failed_runs_is_that_of_the_record() -> None:
    cell = cell_of([1.0] * 5, runs={"utility/ols_se": np.ones(5)})
    assert score_of(replace(cell, metrics={**cell.metrics, "utility/failed_share": 0.03})).failed_share == 0.03
