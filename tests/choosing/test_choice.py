"""The laws of an answer: more rows never need more ε, a looser target neither, and safe is never below typical."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from dpbench.choosing.choice import Choice, Rating, choose_from, rounded_up
from dpbench.choosing.error_curves import Simulation, candidates
from dpbench.choosing.question import Question


def choice(simulation: Simulation, question: Question) -> Choice:
    return choose_from(simulation, question, candidates(["ssp"]))


def best(simulation: Simulation, question: Question) -> Rating:
    return choice(simulation, question).best


def test_more_rows_never_need_more_epsilon(simulation: Simulation) -> None:
    answers = [best(simulation, Question(rows, error=0.1)).epsilon for rows in (50, 500, 501, 5_000, 10**6)]
    assert all(answer is not None for answer in answers)
    for fewer, more in itertools.pairwise(answers):
        assert fewer.typical >= more.typical
        assert fewer.safe >= more.safe
    assert answers[0].typical > answers[-1].typical


def test_a_looser_target_never_needs_more_epsilon(simulation: Simulation) -> None:
    answers = [best(simulation, Question(3_000, error=error)).epsilon for error in (0.01, 0.05, 0.1, 0.11, 0.5, 0.9)]
    for tighter, looser in itertools.pairwise(answers):
        assert tighter.typical >= looser.typical
        assert tighter.safe >= looser.safe


@pytest.mark.parametrize(
    "question",
    [
        Question(3_000, error=0.1),
        Question(3_000, rmse=9.0),
        Question(epsilon=1, error=0.1),
        Question(3_000, 0.5),
        Question(3_000, risk=0.6),
    ],
)
def test_the_safe_number_is_never_below_the_typical_one(simulation: Simulation, question: Question) -> None:
    for rating in choice(simulation, question).ratings:
        for estimate in filter(None, (rating.epsilon, rating.rows, rating.share_lost)):
            assert estimate.safe >= estimate.typical > 0


def test_rows_are_the_same_question_turned_round(simulation: Simulation) -> None:
    """Two digits, rounded up, are the only difference."""
    epsilon = best(simulation, Question(4_000, error=0.1)).epsilon
    assert epsilon is not None
    rows = best(simulation, Question(epsilon=epsilon.safe, error=0.1)).rows
    assert rows is not None
    assert 0.8 * 4_000 <= rows.safe <= 1.1 * 4_000


def test_the_error_at_the_smallest_epsilon_is_the_target(simulation: Simulation) -> None:
    (candidate, _) = candidates(["ssp"])
    question = Question(4_000, error=0.1)
    epsilon = choose_from(simulation, question, [candidate]).best.epsilon
    assert epsilon is not None
    at = choose_from(simulation, replace(question, error=None, epsilon=epsilon.typical), [candidate]).best.share_lost
    assert at is not None
    assert 0.07 < at.typical <= 0.1


def test_no_epsilon_is_enough_for_a_smaller_error_than_without_privacy(simulation: Simulation) -> None:
    never = best(simulation, Question(4_000, rmse=0.01))
    assert never.epsilon is not None
    assert never.rows is not None
    assert (never.epsilon.safe, never.rows.typical) == (math.inf, math.inf)


def test_where_no_epsilon_is_enough_more_rows_are(simulation: Simulation) -> None:
    few = best(simulation, Question(3, error=0.01))
    assert few.epsilon is not None
    assert few.rows is not None
    assert few.epsilon.typical == math.inf
    assert few.rows.typical < math.inf


def test_the_best_mechanism_is_the_one_that_needs_least(simulation: Simulation) -> None:
    ratings = choice(simulation, Question(3_000, error=0.1)).ratings
    assert [rating.order for rating in ratings] == sorted(rating.order for rating in ratings)


@pytest.mark.parametrize(
    ("number", "expected"), [(0.123, 0.13), (0.12, 0.12), (1234.0, 1300.0), (99.1, 100.0), (math.inf, math.inf)]
)
def test_numbers_are_rounded_up(number: float, expected: float) -> None:
    assert rounded_up(number) == expected
