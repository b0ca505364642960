"""The sentences below the decision table say which row to pick, why, and what picking by these errors costs."""

from __future__ import annotations

from cell_factory import make_sweep
from report_helpers import person_cell

from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.report.decision_texts import (
    CHOOSING_COSTS,
    FAILED_TEXT,
    INTERVALS_TEXT,
    SAME_TEXT,
    UNDECIDED_TEXT,
    choice_sentences,
    pick_sentence,
    scale_sentence,
)
from dpbench.report.summary import SweepSummary


def summary_of(*cells: CellRecord) -> SweepSummary:
    return SweepSummary(make_sweep(cells))


def test_the_pick_is_named_with_its_reason_and_what_choosing_costs() -> None:
    private = {names.DIGEST_KEY: "abc"}
    first, *others = choice_sentences(
        summary_of(*(person_cell("fm", error, e, tags=private) for e, error in ((1, 0.3), (2, 0.13))))
    )
    assert first.startswith("Pick the mechanism fm at ε = 2: the smallest ε of this sweep at which privacy costs at most 10 %")
    assert CHOOSING_COSTS in others


def test_where_every_epsilon_loses_much_the_least_loss_is_named() -> None:
    (first, *_) = choice_sentences(summary_of(person_cell("fm", 0.3)))
    assert first.startswith("At every ε of this sweep privacy costs more than 10 %")
    assert "The least is lost with the mechanism fm at ε = 0.8" in first


def test_without_a_pick_the_sentence_says_what_to_try() -> None:
    assert "try a larger ε, or more rows" in pick_sentence(None)


def test_several_problems_are_counted() -> None:
    cells = [person_cell("fm", error, params={"dataset": name}) for name, error in (("a", 0.11), ("b", 0.3))]
    (first, *_) = choice_sentences(summary_of(*cells))
    assert first.endswith("Privacy costs at most 10 % of what the features can tell in 1 of 2 problems.")


def test_the_scale_names_both_ends_and_intervals_only_where_there_are_some() -> None:
    text = scale_sentence(summary_of(person_cell("fm", 0.13)))
    assert text.startswith("Lost to privacy: 0 % is the fit without privacy (0.1000), 100 % is predicting the same for everybody")
    assert INTERVALS_TEXT not in text


def test_words_of_the_table_are_explained_where_they_appear_and_nowhere_else() -> None:
    same = scale_sentence(summary_of(person_cell("fm", 0.16, spread=0.001), person_cell("dpba", 0.161, spread=0.001)))
    few = scale_sentence(summary_of(person_cell("fm", 0.16, repeats=2), person_cell("dpba", 0.2, repeats=2)))
    clear = scale_sentence(summary_of(person_cell("fm", 0.16, spread=0.001), person_cell("dpba", 0.2, spread=0.001)))
    assert [[note in text for note in (SAME_TEXT, UNDECIDED_TEXT)] for text in (same, few, clear)] == [
        [True, False],
        [False, True],
        [False, False],
    ]


def test_runs_that_lost_everything_are_said_of_the_pick_and_why_a_cheaper_row_is_passed_over() -> None:
    def cell(epsilon: float, error: float, share: float) -> CellRecord:
        return person_cell("fm", error, epsilon, metrics={"utility/failed_share": share})

    summary = summary_of(cell(1, 0.12, 0.2), cell(2, 0.13, 0.004))
    (first, *_) = choice_sentences(summary)
    assert first == (
        "Pick the mechanism fm at ε = 2: the smallest ε of this sweep at which privacy costs at most 10 % of what the features "
        "can tell, and at most 1 % of the runs lose everything. 0.4 % of its runs lost everything."
    )
    assert FAILED_TEXT in scale_sentence(summary)
    (first, *_) = choice_sentences(summary_of(cell(1, 0.12, 0.2), cell(2, 0.2, 0.0)))
    assert "privacy costs more than 10 % of what the features can tell, or more than 1 % of the runs lose everything." in first
    calm = summary_of(cell(1, 0.12, 0.0))
    assert "everything" not in choice_sentences(calm)[0]
    assert FAILED_TEXT not in scale_sentence(calm)
