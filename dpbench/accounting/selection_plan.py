"""How a budget pays for a choice among private candidates: what each may spend, so that the total is what was asked for.

A candidate is a fit and a noisy score of it. There are two ways to choose, and no private row decides which one is taken:

- *each once*: every candidate is fitted and scored, and all of it is paid for by composition. With k candidates of pure ε each
  gets ε / k. Otherwise each gets μ / √k, where μ is worth (ε, δ);
- *random stopping*: candidates are drawn at random, as often as a random number says, and only the best leaves. Each gets ε / 2,
  however many there are (:func:`dpbench.accounting.selection_price.private_selection`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpbench.accounting.composition import Guarantee, compose, total_gdp, total_pure
from dpbench.accounting.conversion import epsilon_of_gdp, gdp_of_epsilon, gdp_of_pure, pure_of_gdp
from dpbench.accounting.costs import Approx, Cost, Gdp, Pure
from dpbench.accounting.selection_price import LOGARITHMIC, candidate_budget, private_selection

SCORE_SHARE = 0.1
"""The share of a candidate's budget that pays for its score; the rest pays for its fit. Shares add up in ε, or in μ²."""
ROUNDING = 1e-9
"""Relative slack for the rounding of sums and conversions."""
Way = Literal["each once", "random stopping"]


@dataclass(frozen=True)
class CandidateShare:
    """What one candidate may spend: its fit an accounted (ε, δ), where δ is 0 for pure ε, and its score a pure ε."""

    fit: Guarantee
    score: float


@dataclass(frozen=True)
class SelectionPlan:
    """One way to choose, with what it costs and what it leaves each candidate."""

    way: Way
    total: Cost
    delta: float
    """The δ at which the total is stated; 0 if all candidates are of pure ε."""
    candidate: Cost
    """The most that the answers of one candidate may cost together."""
    shares: tuple[CandidateShare, ...]

    @property
    def guarantee(self) -> Guarantee:
        """The (ε, δ) of the choice."""
        return compose([self.total], self.delta)

    def covers(self, costs: Sequence[Cost]) -> bool:
        """Return whether the answers of one candidate cost no more than they may."""
        most = self.candidate
        if isinstance(most, Gdp):
            return _mu(costs) <= most.mu * (1 + ROUNDING)
        if isinstance(most, Approx):
            return compose(costs, most.delta).epsilon <= most.epsilon * (1 + ROUNDING)
        return isinstance(most, Pure) and total_pure(costs) <= most.epsilon * (1 + ROUNDING)

    def adds_up(self, mean_draws: float) -> bool:
        """Return whether candidates that cost at most what they may cost no more than the total.

        ``mean_draws`` is the mean number of candidates that random stopping draws.
        """
        if self.way == "random stopping":
            cell = compose([self.candidate], self.candidate.delta if isinstance(self.candidate, Approx) else 0.0)
            price = private_selection([cell], LOGARITHMIC, mean_draws)
        else:
            price = compose([self.candidate] * len(self.shares), self.delta)
        stated = self.guarantee
        return price.epsilon <= stated.epsilon * (1 + ROUNDING) and price.delta <= stated.delta * (1 + ROUNDING)


def plans(epsilon: float, delta: float, pure: Sequence[bool], mean_draws: float) -> list[SelectionPlan]:
    """Return the ways to choose at (ε, δ), first the one that leaves the fits more; ``pure`` says which candidates are of pure ε.

    The mean logarithm of what the fits get decides, and *each once* where both leave the same: it misses no candidate.
    """
    ways = [each_once(epsilon, delta, pure), random_stopping(epsilon, delta, pure, mean_draws)]
    possible = [plan for plan in ways if plan is not None]
    return sorted(possible, key=lambda plan: -sum(_log_strength(share.fit) for share in plan.shares))


def each_once(epsilon: float, delta: float, pure: Sequence[bool]) -> SelectionPlan | None:
    """Return the plan in which every candidate is fitted and scored once; None if it would leave some candidate nothing."""
    k = len(pure)
    if all(pure):
        each = epsilon / k
        share = CandidateShare(Guarantee(each * (1 - SCORE_SHARE), 0.0), each * SCORE_SHARE)
        return SelectionPlan("each once", Pure(epsilon), 0.0, Pure(each), (share,) * k)
    mu = gdp_of_epsilon(epsilon, delta)
    fit, score = (math.sqrt(part / k) * mu for part in (1 - SCORE_SHARE, SCORE_SHARE))
    fits = {True: Guarantee(pure_of_gdp(fit), 0.0), False: Guarantee(epsilon_of_gdp(fit, delta), delta)}
    shares = tuple(CandidateShare(fits[is_pure], pure_of_gdp(score)) for is_pure in pure)
    possible = all(min(share.fit.epsilon, share.score) > 0 for share in shares)
    return SelectionPlan("each once", Gdp(mu), delta, Gdp(mu / math.sqrt(k)), shares) if possible else None


def random_stopping(epsilon: float, delta: float, pure: Sequence[bool], mean_draws: float) -> SelectionPlan | None:
    """Return the plan in which a random number of random candidates is tried; None if δ leaves some candidate no δ."""
    stated = 0.0 if all(pure) else delta
    each = candidate_budget(Guarantee(epsilon, stated), mean_draws)
    if each is None:
        return None
    fit, score = each.epsilon * (1 - SCORE_SHARE), each.epsilon * SCORE_SHARE
    shares = tuple(CandidateShare(Guarantee(fit, 0.0 if is_pure else each.delta), score) for is_pure in pure)
    total, candidate = (Approx(*pair) if stated else Pure(pair[0]) for pair in ((epsilon, stated), (each.epsilon, each.delta)))
    return SelectionPlan("random stopping", total, stated, candidate, shares)


def _mu(costs: Sequence[Cost]) -> float:
    """Return μ of answers that cost pure ε or μ; infinite if one costs something else."""
    return total_gdp([Gdp(gdp_of_pure(cost.epsilon)) if isinstance(cost, Pure) else cost for cost in costs])


def _log_strength(fit: Guarantee) -> float:
    """Return the logarithm of what a fit gets: of ε where it is pure, and otherwise of the μ that is worth (ε, δ)."""
    return math.log(gdp_of_epsilon(fit.epsilon, fit.delta) if fit.delta else fit.epsilon)
