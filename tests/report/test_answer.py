"""The answer names the best ranked cell, and never a winner without a bound on the difference."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cell_factory import make_cell
from report_helpers import answer, note, person_cell

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import short_answer
from dpbench.report.leaderboards import boards


def test_the_best_ranked_cell_of_each_epsilon_is_named() -> None:
    rows = [
        make_cell("fm", 0.30, 0.1),
        make_cell("dpba", 0.20, 0.1),
        make_cell("fm", 0.16, 3.2, spread=0.001),
        make_cell("dpba", 0.17, 3.2),
    ]
    first, second = answer(rows)
    assert first.startswith("linear on wine at ε = 0.1: dpba has the lowest median rmse, 0.2, repeat by repeat lower than fm's ")
    assert "the mean predictor, which needs no features, does no worse (0.1772)" in first
    assert second.startswith("linear on wine at ε = 3.2: fm has the lowest median rmse, 0.16, repeat by repeat lower than dpba")
    assert "mean predictor" not in second


@pytest.mark.parametrize(
    "tags",
    [{"dpbench.sound": "false"}, {"dpbench.private": "false"}, {"dpbench.leaks": "bounds_from_data"}, {"dpbench.sound": ""}],
    ids=["unsound", "not private", "leaks", "unknown"],
)
def test_what_is_not_sound_is_never_ranked(tags: dict[str, str]) -> None:
    better = make_cell("marvel", 0.001, tags=tags)
    (sentence,) = answer([better, make_cell("fm", 0.2)])
    assert "fm is the only ranked cell, with a median rmse of 0.2 (mean 0.2, 95 % interval 0.195 to 0.205)" in sentence
    assert "marvel" not in sentence
    (sentence,) = answer([better, make_cell("fm", 0.2), make_cell("dpba", 0.3)])
    assert "fm has the lowest" in sentence
    assert "marvel" not in sentence
    (sentence,) = answer([better])
    assert "nothing is ranked" in sentence
    assert "marvel" not in sentence
    assert "| marvel |" in note(SweepRecord((better, make_cell("fm", 0.2)), "command", run_id="id"), "error_vs_epsilon.png"), (
        "but it is in the table"
    )


def test_failed_and_pruned_cells_are_not_ranked_either() -> None:
    rows = [
        make_cell("fm", 0.2),
        make_cell("bad", 0.1, state="failed", reason="x"),
        make_cell("odd", 0.1, state="pruned", reason="y"),
    ]
    (sentence,) = answer(rows)
    assert "fm is the only ranked cell, with" in sentence
    assert "bad" not in sentence
    assert "odd" not in sentence


def test_a_cell_without_a_finite_error_does_not_win() -> None:
    (sentence,) = answer([make_cell("broken", None), make_cell("fm", 0.2)])
    assert "fm is the only ranked cell with a finite error" in sentence
    (sentence,) = answer([make_cell("broken", None)])
    assert "no run gave a finite error" in sentence


def test_the_best_is_lower_by_a_shift_with_its_interval_and_p() -> None:
    """The numbers are the paired test's: the median of the pairs' means, and with 12 repeats of one sign p = 2 / 2¹²."""
    rows = [make_cell("dpba", 0.30), make_cell("fm", 0.20)]
    (sentence,) = answer(rows)
    found = re.search(r"fm has the lowest .* lower than dpba's by (\S+) \(95 % interval (\S+) to (\S+), p = 0.00049\)", sentence)
    assert found is not None
    shift, low, high = map(float, found.groups())
    assert 0.08 < low < shift < high < 0.12
    assert shift == pytest.approx(0.1, abs=0.01)


def test_what_the_test_does_not_separate_is_no_winner_and_has_a_number_of_repeats() -> None:
    (sentence,) = answer([make_cell("fm", 0.200), make_cell("dpba", 0.2015)])
    assert re.search(r"not separated from (fm|dpba): about [\d,]+ more repeats would be needed", sentence)
    assert "lower than" not in sentence
    (sentence,) = answer(
        [make_cell("fm", 0.2, params={"mechanism.ridge": "2"}), make_cell("fm", 0.2, params={"mechanism.ridge": "4"})]
    )
    assert "not separated from fm (ridge=4): their errors are the same in every repeat" in sentence


@pytest.mark.parametrize(("repeats", "words"), [(1, "1 repeat"), (5, "5 repeats")])
def test_too_few_repeats_for_any_winner_say_so(repeats: int, words: str) -> None:
    (sentence,) = answer([make_cell("fm", 0.2, repeats=repeats), make_cell("dpba", 0.9, repeats=repeats)])
    assert f"not separated from dpba: {words} cannot tell a difference from chance, at least 6 are needed" in sentence
    assert "lower than" not in sentence
    (sentence,) = answer([make_cell("fm", 0.2, repeats=6), make_cell("dpba", 0.9, repeats=6)])
    assert "lower than dpba's by" in sentence


def test_of_many_each_is_either_lower_or_open() -> None:
    rows = [make_cell("a", 0.2), make_cell("b", 0.2005), make_cell("c", 0.3), make_cell("d", 0.4), make_cell("e", 0.5)]
    (sentence,) = answer(rows)
    first, other = ("a", "b") if "a has the lowest" in sentence else ("b", "a")
    assert f"{first} has the lowest" in sentence
    assert f"not separated from {other}: " in sentence
    assert "lower than c's by" in sentence
    assert "Holm-corrected p = " in sentence
    assert "and lower than 2 others" in sentence
    rows = [make_cell(name, 0.2, repeats=7) for name in "abcdef"]
    (sentence,) = answer(rows)
    assert re.search(r"not separated from \w, \w, \w and 2 more: ", sentence)
    assert "at least 10 are needed" in sentence, "15 pairs at 7 repeats: 2 / 2¹⁰ is below 0.05 / 15"


def test_repeats_that_hold_bad_runs_are_weighed_and_the_median_run_is_said() -> None:
    """One fold in two goes wrong: the median run is the better one's, every repeat is the worse."""
    wild = make_cell("wild", 0.2, runs={"utility/rmse": np.tile([0.2, 9.0], 12)})
    (sentence,) = answer([wild, make_cell("fm", 0.3)])
    assert "fm has the lowest rmse in the median repeat, 0.3" in sentence
    assert "lower than wild's by 4.3" in sentence
    assert "in the median run wild's is lower, 0.2" in sentence


def test_runs_that_are_left_out_are_counted() -> None:
    errors = np.full(24, 0.4)
    errors[[3, 7]] = np.nan
    (sentence,) = answer([make_cell("fm", 0.2), make_cell("odd", 0.4, runs={"utility/rmse": errors})])
    assert "up to 2 runs of a pair are left out" in sentence


def test_without_runs_the_intervals_of_the_means_are_all_there_is() -> None:
    (apart,) = answer([make_cell("fm", 0.20, repeats=0), make_cell("dpba", 0.30, repeats=0)])
    assert "fm has the lowest median rmse, 0.2, dpba follows with 0.3" in apart
    assert "95 % intervals of the means, not paired: 0.195 to 0.205, 0.295 to 0.305" in apart
    (close,) = answer([make_cell("fm", 0.200, repeats=0), make_cell("dpba", 0.201, repeats=0)])
    assert "do not separate" in close
    lost = ["utility/rmse_ci_low", "utility/rmse_ci_high"]
    (nothing,) = answer([make_cell("fm", 0.2, repeats=0, without=lost), make_cell("dpba", 0.9, repeats=0, without=lost)])
    assert "not separated: there are neither runs nor intervals" in nothing


def test_a_mechanisms_options_tell_its_cells_apart() -> None:
    (sentence,) = answer(
        [make_cell("fm", 0.3, params={"mechanism.ridge": "2"}), make_cell("fm", 0.2, params={"mechanism.ridge": "4"})]
    )
    assert "fm (ridge=4) has the lowest" in sentence
    assert "lower than fm (ridge=2)'s by 0.1 " in sentence


def test_many_problems_are_summed_up_in_three_sentences() -> None:
    def at(dataset: str) -> list[CellRecord]:
        return [person_cell(name, error, params={"dataset": dataset}) for name, error in (("good", 0.2), ("fair", 0.3))]

    rows = [row for number in range(5) for row in at(f"d{number}")]
    sentences = short_answer(rows, boards(rows), ["one"] * 5)
    assert len(sentences) == 3
    assert "good in all 5 comparisons (always separated from all others by a test)" in sentences[0]
    assert "25 % at ε = 0.8" in sentences[1]
    assert "All 10 cells are private" in sentences[2]


def test_only_problems_with_a_ranked_place_are_counted() -> None:
    rows = [person_cell(name, 0.2, params={"dataset": data}) for data in ("a", "b", "c") for name in ("good", "fair")]
    rows += [person_cell("open", 0.1, ranked=False, params={"dataset": "d"})]
    assert "25 % at ε = 0.8 (median over 3 problems)" in short_answer(rows, boards(rows), ["one"] * 4)[1]


@pytest.mark.parametrize(("error", "useless"), [(0.4999, False), (0.5, True), (0.6, True)])
def test_a_best_cell_that_is_no_better_than_the_mean_is_counted(error: float, useless: bool) -> None:
    cells = [person_cell(name, error, params={"dataset": data}) for data in ("a", "b", "c") for name in ("good", "fair")]
    sentence = short_answer(cells, boards(cells), ["one"] * 3)[1]
    assert ("at 3 of 3 it does no better than the mean" in sentence) == useless


@pytest.mark.parametrize(("sentences", "whole"), [(1, True), (2, True), (3, False)])
def test_two_sentences_are_short_enough_and_three_are_summed_up(sentences: int, whole: bool) -> None:
    cells = [make_cell("fm"), make_cell("dpba", 0.3)]
    texts = [f"sentence {index}" for index in range(sentences)]
    assert (short_answer(cells, boards(cells), texts)[:-1] == texts) == whole


def test_the_three_that_win_most_are_named_and_the_others_are_counted() -> None:
    def at(dataset: str, best: str) -> list[CellRecord]:
        return [make_cell(name, 0.2 if name == best else 0.3, params={"dataset": dataset}) for name in "abcd"]

    cells = [cell for number, best in enumerate("aabbccd") for cell in at(f"d{number}", best)]
    sentence = short_answer(cells, boards(cells), ["one"] * 7)[0]
    assert "a in 2 of 7" in sentence
    assert "c in 2 of 7" in sentence
    assert "1 other in the rest" in sentence


def test_an_attack_fits_nothing_anew_and_adds_no_sentence() -> None:
    cells = [make_cell(name, params={"attack": attack}) for attack in ("none", "spy") for name in ("fm", "dpba")]
    assert len(answer(cells)) == 1


@pytest.mark.parametrize(("error", "warns"), [(0.1771, False), (0.1772, True)])
def test_an_error_of_the_mean_predictor_or_more_warns(error: float, warns: bool) -> None:
    (sentence,) = answer([make_cell("fm", error)])
    assert ("the mean predictor, which needs no features, does no worse" in sentence) == warns


def test_an_interval_that_no_error_can_lie_in_is_not_shown() -> None:
    (sentence,) = answer([make_cell("fm", 0.2, spread=0.5)])
    assert "interval" not in sentence
