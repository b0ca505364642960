"""The sentences about intervals."""

from __future__ import annotations

from typing import get_args

import numpy as np

from dpbench.contracts.uncertainty import Covers, Intervals, Method
from dpbench.inference.wording import METHODS, UNCERTAINTY, absent, described, floor_sentence


def test_every_method_and_both_uncertainties_have_words() -> None:
    assert set(METHODS) == set(get_args(Method))
    assert set(UNCERTAINTY) == set(get_args(Covers))


def test_the_sentence_names_the_level_the_method_the_uncertainty_and_every_remark() -> None:
    one = np.zeros((1, 1))
    text = described(Intervals("delta", one, one, one, one, remarks=("They are wide.",)), "table", 0.9)
    assert text == (
        "90 % intervals by the delta method; they cover the noise of privacy alone, about the non-private fit to the same rows.",
        "They are wide.",
    )


def test_a_reason_is_a_sentence() -> None:
    assert absent("none were asked for") == "No intervals: none were asked for."


def test_the_share_of_floored_runs_is_said_and_a_rare_one_is_not_rounded_to_nothing() -> None:
    assert "is active here" in floor_sentence(1.0)
    assert "in 12.5 % of the runs" in floor_sentence(0.125)
    assert "in 0.1 % of the runs" in floor_sentence(0.0001)
