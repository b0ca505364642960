"""What the leaderboard says follows from the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpbench.report.leaderboard.scores import Score
from dpbench.report.leaderboard.tournament import tournaments
from dpbench.report.leaderboard.wording import notes, percent, recommendation, rules, title

Maker = Callable[..., Score]


def test_the_first_is_recommended_with_its_scores_and_the_first_pure_one(score: Maker) -> None:
    scores = [
        score("good", 0.1),
        score("pure", 0.4, delta=0.0),
        score("good", 0.2, "t2", rows=9000),
        score("pure", 0.6, "t2", delta=0.0),
    ]
    first, pure, rows, held_out = recommendation(tournaments(scores))
    assert first.startswith(
        "Linear regression: `good`, with a mean rank of 1.0 of 2 mechanisms and variants on 2 tables. It goes 85 % (ε = 1)"
    )
    assert "within 2 points of the best in 100 % of the cells" in first
    assert "`pure` for linear (mean rank 2.0; 50 % of the way at ε = 1)" in pure
    assert held_out.endswith(
        "at even places of the alphabetical list, on which no constant was chosen: `good` in 100 % (linear)."
    )
    assert "90 % of the way on tables below 5,000 rows and 80 % of the way on tables above" in rows


def test_where_all_need_a_delta_it_is_said(score: Maker) -> None:
    assert "no mechanism for linear" in recommendation(tournaments([score("a", 0.1), score("b", 0.2)]))[1]


def test_the_rules_name_the_runs_and_the_delta(score: Maker) -> None:
    text = " ".join(rules(tournaments([score("a", 0.1)])))
    assert "with 100 runs" in text
    assert "δ = 1e-06" in text


def test_a_reader_is_told_what_does_not_count(score: Maker) -> None:
    flat = {"error_no_privacy": 0.199}
    scores = [
        *(score("a", 0.1, table) for table in ("t1", "t2", "t3")),
        *(score("b", 0.2, "t1"), score("b", 0.2, "t3", state="failed"), score("a", 1.0, "t4", **flat)),
        *(score("b", 1.0, "t4", **flat), score("c", 0.1, guarantee="REFUTED")),
    ]
    said = " ".join(notes(tournaments(scores)["linear"]))
    assert "Not ranked: `c` is REFUTED." in said
    assert "Shown and not counted: t4." in said
    assert "Some cells failed: b." in said
    assert "Not complete yet, so not counted: t2." in said


def test_small_formats() -> None:
    assert (title("linear"), title("robust"), percent(0.456)) == ("Linear regression", "Robust", "46 %")


def test_for_two_classes_another_mechanism_is_recommended_than_the_first_and_the_reason_is_said(score: Maker) -> None:
    erm = "objective_perturbation (variant=tight)"
    lost = {"best": 0.1, "dp_newton": 0.2, erm: 0.3}
    scores = [replace(score(name, share, table), model="logistic") for name, share in lost.items() for table in ("t1", "t2")]
    first, _, rows, held_out = recommendation(tournaments(scores))
    assert first.startswith(f"Logistic regression: `{erm}`, with a mean rank of 3.0 of 3 mechanisms")
    assert first.endswith(
        "`best` (1.0) and `dp_newton` (2.0) have a lower mean rank here. For two classes `objective_perturbation` is recommended "
        "for now, and not `best`: on tables that were used neither to make nor to judge `best`, it was fourth of eight. "
        "`release` has no secure noise for `objective_perturbation`: use `dp_newton` there."
    )
    assert "`best`" not in rows + held_out
    linear = recommendation(tournaments([replace(one, model="linear") for one in scores]))[0]
    assert linear.startswith("Linear regression: `best`, with a mean rank of 1.0")
    alone = [one for one in scores if one.mechanism == "best"]
    assert "`best`" in recommendation(tournaments(alone))[0], "where nothing else was run"
