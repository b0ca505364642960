"""The answer first says what may be concluded; a winner is named only among cells that may be compared."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from cell_factory import make_cell
from report_helpers import answer, note, person_cell

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import conclusion, short_answer
from dpbench.report.leaderboards import boards


def ruled(name: str, error: float, rule: str, epsilon: float = 0.8, **more: Any) -> CellRecord:
    return person_cell(name, error, epsilon, tags={"dpbench.sensitivity": rule}, **more)


def concluded(cells: list[CellRecord]) -> list[str]:
    return conclusion(boards(cells))


def test_the_conclusion_comes_first_and_then_a_sentence_for_each_epsilon() -> None:
    rows = [
        person_cell("fm", 0.40, 0.1),
        person_cell("dpba", 0.30, 0.1),
        person_cell("fm", 0.16, 3.2, spread=0.001),
        person_cell("dpba", 0.161, 3.2, spread=0.001),
    ]
    first, second, third, fourth = answer(rows)
    assert first == ("linear on people: dpba has the lowest error at ε = 0.1; dpba and fm are practically the same at ε = 3.2.")
    assert second.endswith("(100 %), the best error stands at 50 % at ε = 0.1 and 15 % at ε = 3.2.")
    assert third.startswith("linear on people at ε = 0.1: dpba has the lowest median rmse, 0.3, lower than fm's by 0.1")
    assert fourth == (
        "linear on people at ε = 3.2: dpba and fm are practically the same: the median rmse is 0.16 to 0.161, a difference of "
        "less than 1 % of the way from the fit without privacy to the mean predictor."
    )


def test_the_same_outcome_at_every_epsilon_is_said_once() -> None:
    rows = [person_cell(name, error, epsilon) for epsilon in (0.1, 3.2) for name, error in (("fm", 0.3), ("dpba", 0.2))]
    assert concluded(rows)[0] == "linear on people: dpba has the lowest error at every ε (0.1 and 3.2)."


def test_across_rules_no_winner_is_named_anywhere() -> None:
    """Of the two groups each has its own best, and the first sentence says what they rest on."""
    cells = [ruled("a", 0.30, "paper"), ruled("b", 0.40, "paper"), ruled("c", 0.20, "tight"), ruled("d", 0.25, "tight")]
    first, *others = answer(cells)
    assert first == (
        "These cells do not rest on the same rules, so no winner is named across the groups. c and d: the smallest proven "
        "sensitivity (tight); a and b: the sensitivity of the rule 'paper'."
    )
    assert any("at ε = 0.8 (sensitivity tight): c has the lowest median rmse, 0.2, lower than d's" in text for text in others)
    assert any("at ε = 0.8 (sensitivity paper): a has the lowest median rmse, 0.3, lower than b's" in text for text in others)
    assert short_answer(cells, concluded(cells))[0] == first
    (board,) = boards(cells)
    ranks = {place.cell.params["mechanism"]: place.rank for place in board.places}
    assert ranks == {"a": 1, "b": 2, "c": 1, "d": 2}


def test_where_the_labels_name_the_rule_no_sentence_names_it_again() -> None:
    cells = [ruled("fm", error, rule, params={"mechanism.sensitivity": rule}) for rule, error in (("paper", 0.3), ("tight", 0.2))]
    first, second, *_ = answer(cells)
    assert "fm (sensitivity=tight): the smallest proven sensitivity (tight)" in first
    assert "fm (sensitivity=tight) is the only ranked cell at ε = 0.8;" in second
    assert "stands at 25 % and 50 % (one for each group) at ε = 0.8" in " ".join(answer(cells))


def test_what_holds_for_every_group_is_said_once() -> None:
    rules = {"a": "tight", "b": "tight", "c": "paper", "d": "paper"}
    cells = [ruled(name, 0.6, rule, epsilon) for name, rule in rules.items() for epsilon in (1, 2)]
    assert concluded(cells)[1] == "linear on people: no cell is better than always predicting the mean at every ε (1 and 2)."


def test_two_cells_of_different_rules_have_no_contest_at_all() -> None:
    cells = [ruled("fm", 0.30, "paper"), ruled("dpba", 0.20, "tight")]
    text = " ".join(answer(cells))
    assert "lower than" not in text
    assert "lowest" not in text
    assert text.count("is the only ranked cell") >= 2


def test_across_currencies_no_winner_is_named() -> None:
    cells = [person_cell("fm", 0.3), person_cell("irls", 0.2, metrics={"privacy/delta": 1e-6})]
    first, *others = answer(cells)
    assert "fm: a guarantee by ε alone (δ = 0); irls: a guarantee by ε with a δ (δ = 1e-06)." in first
    assert not any("lowest" in text for text in others)


def test_where_even_the_fit_without_privacy_is_useless_nothing_is_compared_and_the_reason_is_said() -> None:
    useless = {"reference/no_privacy/rmse_median": 0.51}
    (sentence,) = answer([person_cell("fm", 0.3, metrics=useless), person_cell("dpba", 0.2, metrics=useless)])
    assert sentence == (
        "linear on people at ε = 0.8: no comparison is made, because even the fit without privacy (0.51) is no better than "
        "always predicting the mean (0.5)."
    )
    (board,) = boards([person_cell("fm", 0.3, metrics=useless), person_cell("dpba", 0.2, metrics=useless)])
    assert [place.rank for place in board.places] == [None, None]


def test_a_mechanism_that_counts_epsilon_in_another_unit_is_named() -> None:
    dear = person_cell("irls", 0.2, 0.8, metrics={"privacy/epsilon_accounted": 6.827})
    text = " ".join(answer([person_cell("fm", 0.2), dear]))
    assert "not every mechanism counts ε in that unit: irls (its 0.8 is 6.827). `budget=matched` gives" in text
    assert "budget=matched" not in " ".join(answer([person_cell("fm", 0.2)]))


def test_exploding_runs_are_said_with_their_number_and_size() -> None:
    errors = np.full((25, 2), 0.2)
    errors[7, 1] = 8.49
    runs = {"reference/mean_predictor/rmse": np.full(50, 0.5)}
    wild = person_cell("wild", errors, runs=runs)
    text = answer([wild, person_cell("fm", 0.3, repeats=25)])
    assert text[0].startswith("linear on people at ε = 0.8: wild has the lowest median rmse, 0.2, lower than fm's by 0.1 (95 %")
    assert "wild at ε = 0.8 in 1 of 50 runs, up to 8.49." in text[1]


@pytest.mark.parametrize(
    "tags",
    [{"dpbench.sound": "false"}, {"dpbench.private": "false"}, {"dpbench.leaks": "bounds_from_data"}, {"dpbench.sound": ""}],
    ids=["unsound", "not private", "leaks", "unknown"],
)
def test_what_is_not_sound_is_never_ranked(tags: dict[str, str]) -> None:
    better = make_cell("marvel", 0.001, tags=tags)
    (sentence,) = answer([better, make_cell("fm", 0.16)])
    assert "fm is the only ranked cell, with a median rmse of 0.16." in sentence
    assert "marvel" not in sentence
    (sentence,) = answer([better, make_cell("fm", 0.16), make_cell("dpba", 0.17)])
    assert "fm has the lowest" in sentence
    assert "marvel" not in sentence
    (sentence,) = answer([better])
    assert "nothing is ranked" in sentence
    assert "marvel" not in sentence
    assert "| marvel&emsp;|" in note(
        SweepRecord((better, make_cell("fm", 0.2)), "command", run_id="id"), "error_vs_epsilon.png"
    ), "but it is in the table"


def test_failed_and_pruned_cells_are_not_ranked_either() -> None:
    rows = [
        make_cell("fm", 0.16),
        make_cell("bad", 0.1, state="failed", reason="x"),
        make_cell("odd", 0.1, state="pruned", reason="y"),
    ]
    (sentence,) = answer(rows)
    assert "fm is the only ranked cell, with" in sentence
    assert "bad" not in sentence
    assert "odd" not in sentence


def test_a_cell_without_a_finite_error_does_not_win() -> None:
    (sentence,) = answer([make_cell("broken", None), make_cell("fm", 0.16)])
    assert "fm is the only ranked cell with a finite error" in sentence
    (sentence,) = answer([make_cell("broken", None)])
    assert "no run gave a finite error" in sentence


def test_the_best_is_lower_by_a_difference_of_medians_with_its_interval_and_p() -> None:
    """With 12 repeats, of which all but a few swaps bring the medians closer, p is near its minimum of 2 / 2¹²."""
    rows = [person_cell("dpba", 0.30), person_cell("fm", 0.20)]
    (sentence,) = answer(rows)
    found = re.search(r"fm has the lowest .* lower than dpba's by 0\.1 \(95 % interval (\S+) to (\S+), p (.*)\)", sentence)
    assert found is not None
    low, high = map(float, found.groups()[:2])
    assert 0.08 < low < 0.1 < high < 0.12


def test_what_the_test_does_not_separate_is_no_winner_and_has_a_number_of_repeats() -> None:
    (sentence,) = answer([person_cell("fm", 0.20, spread=0.1), person_cell("dpba", 0.23, spread=0.1)])
    assert re.search(r"fm has a median rmse of 0.2; no test separates it from dpba \(0.23\): about [\d,]+ more repeats", sentence)
    assert "lowe" not in sentence


@pytest.mark.parametrize(("repeats", "words"), [(1, "1 repeat"), (5, "5 repeats")])
def test_too_few_repeats_for_any_winner_say_so(repeats: int, words: str) -> None:
    (sentence,) = answer([person_cell("fm", 0.2, repeats=repeats), person_cell("dpba", 0.9, repeats=repeats)])
    assert (
        f"no test separates it from dpba (0.9): {words} cannot tell a difference from chance, at least 6 are needed" in sentence
    )
    assert "lowe" not in sentence
    (sentence,) = answer([person_cell("fm", 0.2, repeats=6), person_cell("dpba", 0.9, repeats=6)])
    assert "lower than dpba's by" in sentence


def test_of_many_each_is_the_same_or_lower_or_open() -> None:
    errors = {"a": 0.2, "b": 0.2005, "d": 0.3, "e": 0.4, "f": 0.5}
    (sentence,) = answer([person_cell(name, error) for name, error in errors.items()])
    assert "a and b are practically the same: the median rmse is 0.2 to 0.2005" in sentence
    assert re.search(r"a's is lower than d's by 0\.1 \(.*, Holm-corrected p = .*\), and lower than 2 others", sentence)
    (sentence,) = answer([person_cell("c", 0.21, spread=0.1), *(person_cell(name, error) for name, error in errors.items())])
    assert "; no test separates it from c (0.21): " in sentence
    rows = [person_cell(name, 0.2 + index / 100, spread=0.1, repeats=7) for index, name in enumerate("abcdef")]
    (sentence,) = answer(rows)
    assert re.search(r"no test separates it from b \(0.21\), c \(0.22\), d \(0.23\) and 2 more: ", sentence)
    assert "at least 10 are needed" in sentence, "15 pairs at 7 repeats: 2 / 2¹⁰ is below 0.05 / 15"


def test_runs_that_are_left_out_are_counted() -> None:
    errors = np.full(24, 0.4)
    errors[[3, 7]] = np.nan
    (sentence,) = answer([person_cell("fm", 0.2), person_cell("odd", 0.4, runs={"utility/rmse": errors})])
    assert "up to 2 runs of a cell without a finite error are left out" in sentence


def test_without_runs_nothing_is_tested() -> None:
    (sentence,) = answer([person_cell("fm", 0.20, repeats=0), person_cell("dpba", 0.30, repeats=0)])
    assert "no test separates it from dpba (0.3): the record has no runs to compare" in sentence
    (sentence,) = answer([person_cell("fm", 0.20, repeats=0), person_cell("dpba", 0.201, repeats=0)])
    assert "practically the same" in sentence


def test_a_mechanisms_options_tell_its_cells_apart() -> None:
    (sentence,) = answer(
        [person_cell("fm", 0.3, params={"mechanism.ridge": "2"}), person_cell("fm", 0.2, params={"mechanism.ridge": "4"})]
    )
    assert "fm (ridge=4) has the lowest" in sentence
    assert "lower than fm (ridge=2)'s by 0.1 " in sentence


def on(dataset: str, **errors: float) -> list[CellRecord]:
    return [person_cell(name, error, params={"dataset": dataset}) for name, error in errors.items()]


def test_many_problems_are_counted_by_their_outcome() -> None:
    rows = [row for number in range(3) for row in on(f"d{number}", good=0.2, fair=0.3)]
    rows += on("d4", good=0.2, fair=0.201) + on("d5", good=0.6, fair=0.7)
    first, second, third = short_answer(rows, concluded(rows))
    assert first == (
        "In 5 comparisons, each on one problem at one accounted ε: good has the lowest error in 3; the lowest are practically "
        "the same in 1; no cell is better than always predicting the mean in 1."
    )
    assert "25 % (median of 5 comparisons) at ε = 0.8." in second
    assert "All 10 cells are private" in third


def test_only_problems_with_a_ranked_place_are_counted() -> None:
    rows = [row for data in ("a", "b", "c") for row in on(data, good=0.2, fair=0.2)]
    rows += [person_cell("open", 0.1, ranked=False, params={"dataset": "d"})]
    assert "25 % (median of 3 comparisons) at ε = 0.8" in " ".join(concluded(rows))


def test_an_attack_fits_nothing_anew_and_adds_no_sentence() -> None:
    cells = [make_cell(name, params={"attack": attack}) for attack in ("none", "spy") for name in ("fm", "dpba")]
    assert len(answer(cells)) == 1


@pytest.mark.parametrize(("error", "warns"), [(0.1771, False), (0.1772, True)])
def test_an_error_of_the_mean_predictor_or_more_warns(error: float, warns: bool) -> None:
    (sentence,) = answer([make_cell("fm", error)])
    assert ("fm is no better than always predicting the mean (0.1772)" in sentence) == warns
    (sentence,) = answer([make_cell("fm", error), make_cell("dpba", 0.3)])
    assert ("no cell is better than always predicting the mean (0.1772); the lowest median rmse is fm's" in sentence) == warns


def test_runs_that_lost_everything_are_said_of_the_best_cell_and_it_may_have_nothing_to_boast_of() -> None:
    failed = person_cell("fm", 0.16, metrics={"utility/failed_share": 0.03})
    assert any("fm at ε = 0.8 in 3 % of the runs" in sentence for sentence in concluded([failed, person_cell("dpba", 0.3)]))
    assert not any("3 % of the runs" in one for one in concluded([failed, person_cell("dpba", 0.12)])), "others are in the tables"
    worthless = person_cell("fm", 0.16, metrics={"utility/failed_share": 0.9})
    assert answer([worthless])[0] == (
        "linear on people at ε = 0.8: most runs of fm lost everything, although it has the lowest median error, with a median "
        "rmse of 0.16."
    )
