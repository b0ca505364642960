"""Answer a question from error curves: the smallest ε, the number of rows, or the error, typical and safe."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dpbench.choosing.error_curves import ROWS, SMALLEST, STRENGTHS, Candidate, Curves, Simulation
from dpbench.choosing.public_facts import PublicFacts
from dpbench.choosing.question import Question
from dpbench.report.decision import MAX_FAILED_SHARE
from dpbench.report.leaderboard.wording import TWO_CLASSES

LARGEST_EPSILON = 100.0
"""Never recommend an ε above this: it protects nothing."""
SAFE_SHARE = 0.9
"""The share of the plausible tables for which the safe number is enough."""
DIGITS = 2
"""Digits of the numbers of an answer, which are rounded up."""

Array = np.ndarray


@dataclass(frozen=True)
class Estimate:
    """A number for the typical plausible table, and one that is safe for nine tables of ten; infinite if none is enough."""

    typical: float
    safe: float


@dataclass(frozen=True)
class Rating:
    """How a candidate answers the question."""

    candidate: Candidate
    epsilon: Estimate | None = None
    """The smallest ε that reaches the target; None if ε is fixed."""
    rows: Estimate | None = None
    """The fewest rows that reach it: at the fixed ε, or at ε = 1 where ε is open."""
    share_lost: Estimate | None = None
    """What is lost at the fixed ε with these rows, where there is no target."""
    failed: Estimate = Estimate(0.0, 0.0)
    """The share of all simulated fits that lost everything, with the typical number and with the safe one."""
    fails_too_often: bool = False
    """Whether nothing is safe because more than :data:`MAX_FAILED_SHARE` of the fits lose everything."""

    @property
    def order(self) -> tuple[float, float]:
        """What candidates are ranked by: the safe number, then the typical one.

        Where ε is open, the rows that are needed at ε = 1 decide. So the ranking is the same for every number of rows, and
        more rows never need more ε.
        """
        deciding = self.rows or self.share_lost
        assert deciding is not None
        return deciding.safe, deciding.typical


@dataclass(frozen=True)
class Choice:
    """The answer to a question: all candidates, the best one first."""

    facts: PublicFacts
    question: Question
    ratings: tuple[Rating, ...]
    error_without_privacy: Estimate | None = field(default=None)
    """Of a prediction, in the target's unit: the root mean square of the non-private fit and of the mean predictor."""

    @property
    def best(self) -> Rating:
        """The rating of the mechanism that is chosen."""
        return self.ratings[0]


def choose_from(simulation: Simulation, question: Question, candidates: list[Candidate]) -> Choice:
    """Return the answer to a question about the tables of a simulation."""
    targets = _targets(simulation, question)
    ratings = []
    for candidate in candidates:
        curves = simulation.curves(candidate, question.delta, _enough(candidate, question, targets))
        if curves is not None:
            ratings.append(_rated(curves, question, targets))
    ratings.sort(key=lambda rating: (_held_back(rating.candidate, simulation.facts), rating.order))
    return Choice(simulation.facts, question, tuple(ratings), _error_without_privacy(simulation))


def _held_back(candidate: Candidate, facts: PublicFacts) -> bool:
    """Return whether a candidate is shown but not chosen: it cannot be released, or is not recommended for two classes yet."""
    return not candidate.released or (facts.model.target == "binary" and candidate.mechanism.name == TWO_CLASSES.withheld)


def _targets(simulation: Simulation, question: Question) -> Array | None:
    """Return the loss that each table may have; for intervals, how much wider than without privacy they may be."""
    count = len(simulation.tables)
    if question.error is not None:
        return np.full(count, question.error)
    if question.interval is not None:
        return np.full(count, question.interval - 1)
    if question.rmse is None:
        return None
    exact, mean = simulation.losses_of_references()
    return np.asarray((np.square(question.rmse / simulation.geometry.half_range) - exact) / (mean - exact))


def _enough(candidate: Candidate, question: Question, targets: Array | None) -> Callable[[float, Array, Array, float], bool]:
    """Return when a larger strength cannot change the answer."""
    if targets is None:
        assert question.rows is not None
        assert question.allowed_epsilon is not None
        largest = question.rows * candidate.strength(question.allowed_epsilon, question.delta)
        return lambda strength, *_: strength >= largest
    return lambda _, lost, width, failed: failed <= MAX_FAILED_SHARE and bool(np.all(_losses(question, lost, width) <= targets))


def _losses(question: Question, share_lost: Array, width_ratio: Array) -> Array:
    """Return what the target limits: never NaN, and never below what can be told apart."""
    values = share_lost if question.interval is None else width_ratio - 1
    return np.asarray(np.maximum(np.nan_to_num(values, nan=np.inf, posinf=np.inf), SMALLEST))


def _rated(curves: Curves, question: Question, targets: Array | None) -> Rating:
    losses = _losses(question, curves.share_lost, curves.width_ratio)
    candidate, fixed = curves.candidate, question.allowed_epsilon
    if targets is None:
        assert question.rows is not None
        assert fixed is not None
        strength = question.rows * candidate.strength(fixed, question.delta)
        lost, failed = _estimate([_loss_at(strength, column) for column in losses.T]), _failed_at(strength, curves)
        often = failed > MAX_FAILED_SHARE
        return Rating(
            candidate,
            share_lost=Estimate(lost.typical, math.inf if often else lost.safe),
            failed=Estimate(failed, failed),
            fails_too_often=often,
        )
    needed = np.array([_strength_for(target, column) for target, column in zip(targets, losses.T, strict=True)])
    typical, enough = _estimate(needed).typical, _estimate(needed).safe
    strengths = Estimate(typical, _safe_strength(enough, curves))
    rows = _mapped(strengths, lambda strength: _rows(strength, candidate, question, fixed or 1.0))
    epsilon = None if fixed is not None else _mapped(strengths, lambda strength: _epsilon(strength, candidate, question))
    failed_shares = _mapped(strengths, lambda strength: _failed_at(strength, curves))
    return Rating(candidate, epsilon, rows, failed=failed_shares, fails_too_often=enough < strengths.safe == math.inf)


def _failed_at(strength: float, curves: Curves) -> float:
    """Return the share of all fits that lost everything at a strength, between two points evenly in its logarithm."""
    known = np.log(STRENGTHS[: len(curves.failed_share)])
    return float(np.interp(math.log(strength), known, curves.failed_share))


def _safe_strength(strength: float, curves: Curves) -> float:
    """Return the smallest strength, not below this one, at which few enough fits lost everything; infinite if there is none."""
    before, failed = strength, _failed_at(strength, curves)
    if failed <= MAX_FAILED_SHARE:
        return strength
    for at, share in zip(STRENGTHS, curves.failed_share, strict=False):
        if at <= strength:
            continue
        if share <= MAX_FAILED_SHARE:
            return float(before * (at / before) ** ((failed - MAX_FAILED_SHARE) / (failed - share)))
        before, failed = float(at), float(share)
    return math.inf


def _strength_for(target: float, losses: Array) -> float:
    """Return the smallest strength at which a falling curve reaches the target, between two points evenly in logarithms."""
    reached = np.flatnonzero(losses <= target)
    if not len(reached):
        return math.inf
    at = int(reached[0])
    if at == 0:
        return float(STRENGTHS[0])
    before, after = min(losses[at - 1], 1e300), losses[at]
    share = math.log(before / target) / math.log(before / after)
    return float(STRENGTHS[at - 1] * (STRENGTHS[at] / STRENGTHS[at - 1]) ** share)


def _loss_at(strength: float, losses: Array) -> float:
    """Return the loss at a strength, between two points evenly in logarithms; below the first point it is not known."""
    if strength < STRENGTHS[0]:
        return math.inf
    known = np.log(STRENGTHS[: len(losses)])
    return float(np.exp(np.interp(math.log(strength), known, np.log(np.minimum(losses, 1e300)))))


def _total(strength: float, question: Question, rows: float) -> float:
    """Return the strength that a table of this size needs, where tables of :data:`ROWS` rows need ``strength``.

    Without privacy, intervals shrink with √n while the noise shrinks with n. So the same ratio needs √n times the noise.
    """
    return strength * max(1.0, math.sqrt(rows / ROWS)) if question.interval is not None else strength


def _epsilon(strength: float, candidate: Candidate, question: Question) -> float:
    """Return the ε at which the question's rows have this strength."""
    assert question.rows is not None
    if strength == math.inf:
        return math.inf
    epsilon = rounded_up(candidate.epsilon(_total(strength, question, question.rows) / question.rows, question.delta))
    return epsilon if epsilon <= LARGEST_EPSILON else math.inf


def _rows(strength: float, candidate: Candidate, question: Question, epsilon: float) -> float:
    """Return the number of rows that have this strength at ε."""
    if strength == math.inf:
        return math.inf
    rows = strength / candidate.strength(epsilon, question.delta)
    if question.interval is not None and rows > ROWS:
        rows = rows**2 / ROWS
    return max(rounded_up(rows), 2.0)


def rounded_up(number: float, digits: int = DIGITS) -> float:
    """Return a positive number rounded up to a few digits."""
    if not 0 < number < math.inf:
        return number
    step = 10.0 ** (math.floor(math.log10(number)) - digits + 1)
    return float(f"{math.ceil(number / step - 1e-9) * step:.{digits}g}")


def _estimate(values: Array | list[float]) -> Estimate:
    """Return the median over the tables and their 90 % quantile: values that occur, so that infinite ones are no trouble."""
    typical, safe = np.quantile(np.asarray(values), [0.5, SAFE_SHARE], method="higher")
    return Estimate(float(typical), float(safe))


def _mapped(estimate: Estimate, function: Callable[[float], float]) -> Estimate:
    return Estimate(function(estimate.typical), function(estimate.safe))


def _error_without_privacy(simulation: Simulation) -> Estimate | None:
    """Return the median over the tables of the errors in the target's unit: without privacy, and of the mean predictor."""
    if simulation.facts.model.target == "binary" or simulation.facts.target.transform is not None:
        return None
    exact, mean = (np.sqrt(np.median(losses)) * simulation.geometry.half_range for losses in simulation.losses_of_references())
    return Estimate(float(exact), float(mean))
