"""What the statement and the model card say of a choice by the data."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.releases.selection_sentences import candidates_text, cost_sentence, score_sentence, secret_sentence

WAGE = Column("wage", 0, 3000, "€")


def section(number: int = 3, way: str = "random stopping", **changes: Any) -> dict[str, Any]:
    candidate = {"fit_epsilon": 0.45, "fit_delta": 0.0, "score_epsilon": 0.05}
    answers = [{"scale": 99.0}, {"scale": 20.0}]
    return {
        "way": way,
        "odds": 100,
        "candidates": [candidate] * number,
        "chosen": 0,
        "answers": answers,
        "score": 90.0,
        **changes,
    }


def test_candidates_are_counted() -> None:
    assert [candidates_text(section(number)) for number in (1, 2)] == ["1 candidate", "2 candidates"]


def test_the_price_names_what_the_fit_got_and_what_the_rest_paid_for() -> None:
    stopped = cost_sentence(section(), 1.0)
    assert "fitted with ε = 0.45 of the 1, and scored with 0.05" in stopped
    assert "a secret number of times, 21.5 on average, so that each was tried with a probability of 77 %" in stopped
    assert "each of which was tried once" in cost_sentence(section(way="each once"), 1.0)
    assert "there was no other candidate" in cost_sentence(section(1, "each once"), 1.0)


def test_only_a_random_number_of_tries_must_stay_secret() -> None:
    assert "must stay secret" in secret_sentence(section())
    assert secret_sentence(section(way="each once")) == ""


def test_a_score_is_an_error_in_the_unit_of_the_target_with_the_reach_of_its_noise() -> None:
    """90 of 1,000 rows' squared errors, on a target of which 1 is 1,500 €; the noise reaches 3 scales of 20."""
    text = score_sentence(section(), {"rows": 1000}, WAGE, "real")
    reach = [f"{1500 * math.sqrt(square):.1f}" for square in (0.09, 0.03, 0.15)]
    assert f"is about {reach[0]} € (noise alone: {reach[1]} to {reach[2]})" in text
    assert "flatters the model" in text


def test_a_score_that_its_noise_hides_only_says_how_large_the_error_may_be() -> None:
    """A noisy sum of -30 whose noise reaches 60 above: at most 30 of 40 rows' squared errors or wrong classes."""
    text = score_sentence(section(score=-30.0), {"rows": 40}, Column("wage", 0, 6000, "€"), "real")
    assert "is at most about 2,598 € (the noise hides how large)" in text
    text = score_sentence(section(score=-30.0), {"rows": 40}, WAGE, "binary")
    assert "predicts at most about 75.0% of the rows wrongly (the noise hides how many)" in text


def test_the_score_of_a_single_candidate_is_not_the_best_of_several() -> None:
    assert "the best of several noisy scores" in score_sentence(section(2), {"rows": 1000}, WAGE, "real")
    assert "It is a noisy score on the rows" in score_sentence(section(1), {"rows": 1000}, WAGE, "real")


def test_a_score_of_classes_is_a_share_of_rows_between_none_and_all() -> None:
    text = score_sentence(section(score=10.0), {"rows": 100}, WAGE, "binary")
    assert "about 10.0% of the rows wrongly (noise alone: 0.0% to 70.0%)" in text


def test_a_transformed_target_is_scored_where_it_was_fitted() -> None:
    target = Column("wage", 0, 3000, "€", transform=Transform("log1p"))
    assert "0.3000 on the scaled, transformed target" in score_sentence(section(), {"rows": 1000}, target, "real")


@pytest.mark.parametrize("kind", ["real", "binary"])
def test_where_persons_have_several_rows_the_score_stays_a_sum(kind: str) -> None:
    assert "is 90.00 with noise (of up to 60.00)" in score_sentence(section(), {"persons": 1000}, WAGE, kind)
