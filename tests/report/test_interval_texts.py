"""What is said of intervals: each sentence once, with those that it is about."""

from __future__ import annotations

import pytest
from cell_factory import make_cell, make_sweep

from dpbench.report.interval_texts import asks_for_intervals, has_intervals, interval_sentences


def told(mechanism: str, text: str, epsilon: float = 0.8):
    return make_cell(mechanism, epsilon=epsilon, tags={"dpbench.intervals": text, "dpbench.interval_method": "delta"})


def test_what_all_have_in_common_is_said_once_and_first() -> None:
    cells = [told("a", "By 97.5 % one.\nOf all."), told("b", "By two.\nOf all."), told("c", "By two.\nOf all.")]
    assert interval_sentences(cells) == ["Of all.", "a: By 97.5 % one.", "b and c: By two."]
    assert interval_sentences(cells[1:]) == ["By two. Of all."]
    assert interval_sentences([make_cell()]) == []


def test_what_is_true_of_one_epsilon_alone_is_not_said_of_the_mechanism() -> None:
    assert interval_sentences([told("a", "Always.\nOften.", 0.1), told("a", "Always.", 0.8)]) == ["Always."]


@pytest.mark.parametrize(
    ("overrides", "params", "asked"),
    [
        (("epsilon=1",), {}, False),
        (("inference.method=naive",), {}, True),
        (("+inference.level=0.9",), {}, True),
        ((), {"inference.method": "naive"}, True),
    ],
)
def test_intervals_are_asked_for_by_a_key_of_the_command_or_a_varied_one(overrides, params, asked) -> None:
    assert asks_for_intervals(make_sweep([make_cell(params=params)], overrides=overrides)) is asked


def test_a_cell_has_intervals_if_it_says_how_they_were_made() -> None:
    assert has_intervals(told("a", "By one."))
    assert not has_intervals(make_cell(tags={"dpbench.intervals": "No intervals: none were asked for."}))
