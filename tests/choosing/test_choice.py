"""The laws of an answer: more rows never need more ε, a looser target neither, and safe is never below typical."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Currency
from dpbench.choosing.choice import Choice, Estimate, Rating, choose_from, rounded_up
from dpbench.choosing.error_curves import STRENGTHS, Candidate, Curves, Simulation, candidates
from dpbench.choosing.public_facts import PublicFacts
from dpbench.choosing.question import Question
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Problem
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.registry.lookup import build


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


@dataclass(frozen=True)
class Exploding(Mechanism):
    """`ssp`, of which every twentieth fit is a million times too large: its median is as good, its mean explodes."""

    name: ClassVar[str] = "exploding"
    guarantee: ClassVar[str] = "(ε, δ)-DP"
    currency: ClassVar[Currency] = "approx"

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        fit = build("mechanism", {"name": "ssp"}).fit(curator, problem, budget)
        factors = np.where(np.arange(curator.runs) % 20 == 0, 1e6, 1.0)
        return replace(fit, weights=fit.weights * factors[:, None])


def test_nothing_is_safe_whose_mean_explodes_although_its_median_is_good(simulation: Simulation) -> None:
    (calm, _), exploding = candidates(["ssp"]), Candidate(Exploding())
    for question in (Question(3_000, error=0.1), Question(3_000, 3.0)):
        chosen = choose_from(simulation, question, [exploding, calm])
        good, bad = chosen.ratings
        assert (good.candidate, bad.candidate) == (calm, exploding)
        estimates = [rating.epsilon or rating.share_lost for rating in (good, bad)]
        assert estimates[1].typical == pytest.approx(estimates[0].typical, rel=0.1), "the median of seven fits hides it"
        assert estimates[0].safe < estimates[1].safe == math.inf
        assert bad.failed.typical - good.failed.typical == pytest.approx(0.05, abs=0.01)
        assert (good.fails_too_often, bad.fails_too_often) == (False, True)


def made_up(facts: PublicFacts, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Any:
    """A simulation of ten tables with these curves: by mechanism, what each table loses and which share of the fits fails."""

    def of(candidate: Candidate, *_: Any) -> Curves:
        lost, failed = curves[candidate.mechanism.name]
        shares = np.repeat(np.array(lost)[:, None], 10, axis=1)
        return Curves(candidate, shares, np.full_like(shares, np.nan), np.array(failed))

    return SimpleNamespace(
        facts=facts,
        tables=[None] * 10,
        curves=of,
        geometry=facts.geometry,
        losses_of_references=lambda: (np.ones(10), np.ones(10)),
    )


def test_the_safe_number_is_where_hardly_any_fit_loses_everything(facts: PublicFacts) -> None:
    ssp = candidates(["ssp"])[:1]
    rating = choose_from(
        made_up(facts, {"ssp": ([0.5, 0.05, 0.04, 0.03], [0.3, 0.1, 0.0, 0.0])}), Question(3_000, error=0.1), ssp
    ).best
    calm = choose_from(made_up(facts, {"ssp": ([0.5, 0.05, 0.04, 0.03], [0.0] * 4)}), Question(3_000, error=0.1), ssp).best
    assert rating.epsilon is not None
    assert calm.epsilon is not None
    assert calm.epsilon.typical == calm.epsilon.safe == rating.epsilon.typical < rating.epsilon.safe < math.inf
    assert rating.failed.typical > 0.1
    assert rating.failed.safe == pytest.approx(0.01)
    assert calm.failed == Estimate(0.0, 0.0)


def test_more_to_spend_is_not_taken_for_better_where_it_was_worse(facts: PublicFacts) -> None:
    (gaussian, _) = candidates(["ssp"])
    rising = made_up(facts, {"ssp": ([0.5, 0.05, 0.04, 0.7], [0.0, 0.0, 0.0, 0.4])})
    epsilon = gaussian.epsilon(STRENGTHS[3] / 3_000, 1e-6)
    rating = choose_from(rising, Question(3_000, epsilon), [gaussian]).best
    assert rating.share_lost is not None
    assert rating.share_lost.typical == pytest.approx(0.7, rel=1e-3)
    assert rating.share_lost.safe == math.inf


def test_for_two_classes_neither_the_withheld_mechanism_is_chosen_nor_one_that_cannot_be_released(classes: PublicFacts) -> None:
    good, poor, lost = ([0.5, 0.05], [0.0] * 2), ([0.5, 0.09], [0.0] * 2), ([1.0, 1.0], [1.0] * 2)
    every = {"best": good, "dp_newton": poor, "objective_perturbation": good, "ssp": lost, "fm": lost}
    for question in (Question(3_000, error=0.1), Question(3_000, 1.0)):
        ratings = choose_from(made_up(classes, every), question, candidates()).ratings
        names = [rating.candidate.mechanism.name for rating in ratings]
        assert (names[0], {*names[-2:]}) == ("dp_newton", {"best", "objective_perturbation"})
    alone = choose_from(made_up(classes, every), Question(3_000, error=0.1), candidates(["best"]))
    assert alone.best.candidate.name == "best", "it is chosen by those who name it"


def test_a_mechanism_whose_loss_is_an_approximation_is_not_chosen_where_it_loses_everything(classes: PublicFacts) -> None:
    every = {"ssp": ([1.0, 1.0], [0.9, 1.0]), "dp_newton": ([0.6, 0.3], [0.0, 0.0])}
    answer = choose_from(made_up(classes, every), Question(3_000, 1.0), candidates(["ssp", "dp_newton"]))
    assert answer.best.candidate.name == "dp_newton"
