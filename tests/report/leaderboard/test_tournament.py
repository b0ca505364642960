"""Mechanisms are compared on complete games only, ties share ranks, and what cannot run counts as the mean predictor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.report.leaderboard.scores import Score
from dpbench.report.leaderboard.tournament import Tournament, tournaments

Maker = Callable[..., Score]


def played(score: Maker, lost: dict[str, list[float | None]], epsilons: tuple[float, ...] = (1.0,)) -> Tournament:
    """A tournament in which each mechanism lost these shares on the tables t1, t2, …"""
    return Tournament(
        tuple(
            score(name, share, f"t{number}", epsilon)
            for name, shares in lost.items()
            for number, share in enumerate(shares, 1)
            for epsilon in epsilons
        )
    )


def test_a_lower_loss_wins_and_ranks_add_up(score: Maker) -> None:
    tournament = played(score, {"a": [0.1, 0.1], "b": [0.3, 0.3], "c": [0.5, 0.5]})
    assert [(entry.name, entry.mean_rank) for entry in tournament.entries] == [("a", 1), ("b", 2), ("c", 3)]
    assert [(entry.wins, entry.ties, entry.losses) for entry in tournament.entries] == [(4, 0, 0), (2, 0, 2), (0, 0, 4)]
    assert np.allclose(tournament.ranks.sum(axis=1), 6)


@pytest.mark.parametrize(("gap", "ranks"), [(0.005, [1.5, 1.5]), (0.025, [1.5, 1.5]), (0.035, [1, 2])])
def test_a_tie_is_a_difference_within_noise_or_below_one_point(score: Maker, gap: float, ranks: list[float]) -> None:
    """Both medians have an interval of ±.02, so a difference has one of ±.028."""
    tournament = played(score, {"a": [0.30], "b": [0.30 + gap]})
    assert tournament.ranks[0].tolist() == ranks


def test_a_sure_difference_below_one_point_does_not_matter(score: Maker) -> None:
    sure = {"share_lost_low": 0.3, "share_lost_high": 0.3}
    tournament = Tournament((score("a", 0.300, **sure), score("b", 0.309, share_lost_low=0.309, share_lost_high=0.309)))
    assert tournament.ranks[0].tolist() == [1.5, 1.5]


def test_ties_need_not_be_transitive(score: Maker) -> None:
    """b ties with a and with c, and a beats c: ranks 1.5, 2 and 2.5, whose sum is that of 1, 2 and 3."""
    tournament = played(score, {"a": [0.30], "b": [0.32], "c": [0.34]})
    assert tournament.ranks[0].tolist() == [1.5, 2, 2.5]


def test_what_cannot_run_ties_with_the_mean_predictor_and_moves_no_two_others(score: Maker) -> None:
    without = played(score, {"a": [0.1, 0.2], "b": [0.3, 1.7]})
    tournament = played(score, {"a": [0.1, 0.2], "b": [0.3, 1.7], "narrow": [0.5, None]})
    assert tournament.beats[:, :2, :2].tolist() == without.beats.tolist()
    assert tournament.ranks[1].tolist() == [1, 2.5, 2.5], "b is worse than the mean predictor, and counts as it"
    assert {entry.name: entry.tables for entry in tournament.entries} == {"a": 2, "b": 2, "narrow": 1}


def test_a_mechanism_that_takes_no_table_does_not_play(score: Maker) -> None:
    assert played(score, {"a": [0.1], "other_model": [None]}).names == ["a"]


def test_a_table_counts_when_all_have_played_on_it(score: Maker) -> None:
    """A run that was interrupted has whole tables: the others wait."""
    tournament = Tournament((*played(score, {"a": [0.1, 0.1, 0.1], "b": [0.2, 0.2, 0.2]}).scores[:5],))
    assert tournament.tables == ["t1", "t2"]


def test_where_there_is_nothing_to_learn_scores_are_shown_and_not_counted(score: Maker) -> None:
    flat = {"error_no_privacy": 0.196, "error_mean_predictor": 0.2}
    tournament = Tournament((score("a", 0.1), score("b", 0.2), score("a", 0.9, "flat", **flat), score("b", 0.1, "flat", **flat)))
    assert tournament.shown_only == ["flat"]
    assert tournament.tables == ["t1"]


@pytest.mark.parametrize("guarantee", ["REFUTED", "UNPROVEN", "LEAKS bounds_from_data", "NOT PRIVATE"])
def test_one_cell_without_a_guarantee_keeps_a_mechanism_out(score: Maker, guarantee: str) -> None:
    scores = (score("a", 0.5), score("a", 0.5, "t2"), score("b", 0.1), score("b", 0.1, "t2", guarantee=guarantee))
    tournament = Tournament(scores)
    assert tournament.names == ["a"]
    assert tournament.unranked == {"b": guarantee}


def test_claimed_cells_are_counted_in_the_verdict(score: Maker) -> None:
    tournament = Tournament((score("a", 0.5), score("a", 0.5, "t2", guarantee="claimed"), score("b", 0.4), score("b", 0.4, "t2")))
    assert {entry.name: entry.guarantee for entry in tournament.entries} == {"a": "claimed (1 of 2 cells)", "b": "sound"}


def test_a_table_counts_once_whatever_the_number_of_epsilons(score: Maker) -> None:
    tournament = played(score, {"a": [0.1, 0.5], "b": [0.5, 0.1]}, epsilons=(0.1, 1, 10))
    assert tournament.table_ranks.shape == (2, 2)
    assert [entry.mean_rank for entry in tournament.entries] == [1.5, 1.5]
    assert tournament.entries[0].rank_at == {0.1: 1.5, 1: 1.5, 10: 1.5}
    assert tournament.entries[0].score_at[10] == pytest.approx(0.7)
    assert tournament.entries[0].close == 0.5


def test_close_to_the_best_is_counted_on_the_games_that_are_asked_for(score: Maker) -> None:
    tournament = played(score, {"a": [0.1, 0.5], "b": [0.5, 0.1]})
    assert tournament.close("a", [("t1", 1.0)]) == 1
    assert tournament.close("a", [("t2", 1.0)]) == 0
    assert tournament.close("a", [("t3", 1.0)]) is None


def test_tests_join_what_differs_on_few_tables_and_separate_what_always_differs(score: Maker) -> None:
    few = played(score, {"a": [0.1] * 4, "b": [0.3] * 4})
    assert not few.by_signed_ranks, "of four tables all on one side have p = 1 / 8"
    assert few.alike == [], "Nemenyi's critical difference is .98"
    assert played(score, {"a": [0.1, 0.1, 0.1, 0.6], "b": [0.3] * 4}).alike == [["a", "b"]]
    shares = [0.1 + 0.001 * number for number in range(12)]
    lost = {
        "a": shares,
        "b": [share + 0.2 for share in shares],
        "c": [share + 0.2 + 0.1 * (-1) ** i for i, share in enumerate(shares)],
    }
    many = played(score, lost)
    assert many.alike == [["b", "c"]]
    assert many.p is not None
    assert many.p < 0.05
    assert many.critical is not None


def test_one_table_has_no_test(score: Maker) -> None:
    tournament = played(score, {"a": [0.1], "b": [0.2]})
    assert (tournament.p, tournament.critical) == (None, None)


def test_each_model_has_its_own(score: Maker) -> None:
    scores = [score("a", 0.1), Score("logistic", "t9", "a", 1.0, "pruned")]
    assert list(tournaments(scores)) == ["linear", "logistic"]
    assert tournaments(scores)["logistic"].entries == []
