"""The certificate: how large ε must at least be, given how often an event occurred in two worlds.

Scores and thresholds are chosen on the first half of the runs, where anything goes; the event chosen is then counted on the
second half, once, and both frequencies get exact bounds (Clopper and Pearson 1934), each at half of what is left of the false
alarms after Bonferroni. For an (ε, δ) claim ε is at least log((p_low - δ) / q_high); for normal noise μ is at least
Φ⁻¹(p_low) - Φ⁻¹(q_high) (Nasr et al. 2023), which is much closer to the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dpbench.accounting.composition import compose
from dpbench.accounting.conversion import epsilon_of_gdp
from dpbench.accounting.costs import Cost, Gdp

Array = np.ndarray


@dataclass(frozen=True)
class ClaimedPrivacy:
    """What is claimed of an answer: (ε, δ), and μ where all noise is normal."""

    epsilon: float
    delta: float
    mu: float | None = None

    @classmethod
    def of(cls, costs: Sequence[Cost], delta: float) -> ClaimedPrivacy:
        total = compose(costs, delta)
        if all(isinstance(cost, Gdp) for cost in costs):
            return cls(total.epsilon, total.delta, math.sqrt(math.fsum(cost.mu**2 for cost in costs if isinstance(cost, Gdp))))
        return cls(total.epsilon, total.delta)

    @property
    def private(self) -> bool:
        return math.isfinite(self.epsilon)


@dataclass(frozen=True)
class Certificate:
    """A lower bound on ε that holds with the stated confidence, and how it came about."""

    what: str
    """The answer, or the weights."""
    pair: str
    score: str
    runs: int
    """In each world, both halves."""
    confidence: float
    epsilon: float
    """Where ε is infinite, this grows like the logarithm of the runs."""
    mu: float | None
    claim: ClaimedPrivacy

    @property
    def violated(self) -> bool:
        if self.mu is not None and self.claim.mu is not None:
            return self.mu > self.claim.mu
        return self.epsilon > self.claim.epsilon


@dataclass(frozen=True)
class Scores:
    """Numbers by which two worlds may be told apart: (runs, scores) in each, and the scores' names."""

    first: Array
    second: Array
    names: tuple[str, ...]

    def beside(self, first: Array, second: Array, names: tuple[str, ...]) -> Scores:
        """These and some more."""
        return Scores(np.hstack([self.first, first]), np.hstack([self.second, second]), self.names + names)


def certify(scores: Scores, claim: ClaimedPrivacy, false_alarm: float, what: str = "", pair: str = "") -> Certificate:
    """What the best of the scores proves, at a probability ``false_alarm`` of claiming too much."""
    if not scores.names:
        return Certificate(what, pair, "nothing moved", len(scores.first), 1 - false_alarm, 0.0, claim.mu and 0.0, claim)
    half = len(scores.first) // 2
    chosen = _choose(scores.first[:half], scores.second[:half], claim, false_alarm)
    column, threshold, above, swapped = chosen
    a, b = (scores.second, scores.first) if swapped else (scores.first, scores.second)
    likely, rare = (_count(world[half:, column], threshold, above) for world in (b, a))
    runs = len(scores.first) - half
    value = float(_least(likely, rare, runs, claim, false_alarm))
    name = f"{scores.names[column]} {'>' if above else '<='} {threshold:.4g}"
    confidence = 1 - false_alarm
    if claim.mu is None:
        return Certificate(what, pair, name, len(scores.first), confidence, max(value, 0.0), None, claim)
    mu = max(value, 0.0)
    return Certificate(what, pair, name, len(scores.first), confidence, epsilon_of_gdp(mu, claim.delta), mu, claim)


def upper(count: Array | int, runs: int, tail: float) -> Array:
    """Clopper and Pearson's upper bound on a probability, exceeded with at most the probability ``tail``."""
    count = np.asarray(count)
    return np.where(count >= runs, 1.0, special.betaincinv(count + 1, np.maximum(runs - count, 1), 1 - tail))


def lower(count: Array | int, runs: int, tail: float) -> Array:
    """Their lower bound."""
    count = np.asarray(count)
    return np.where(count <= 0, 0.0, special.betaincinv(np.maximum(count, 1), runs - count + 1, tail))


def _least(likely: Array | int, rare: Array | int, runs: int, claim: ClaimedPrivacy, false_alarm: float) -> Array:
    """The least ε (or μ) at which one event occurs so often in one world and so rarely in the other."""
    p, q = lower(likely, runs, false_alarm / 2), upper(rare, runs, false_alarm / 2)
    if claim.mu is not None:
        return np.asarray(special.ndtri(p) - special.ndtri(q))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > claim.delta, np.log(np.maximum(p - claim.delta, 0)) - np.log(q), -np.inf)


def _choose(first: Array, second: Array, claim: ClaimedPrivacy, false_alarm: float) -> tuple[int, float, bool, bool]:
    """The score, the threshold, the side and the direction that promise most."""
    runs = len(first)
    ranks = _ranks(2 * runs)
    # of thousands of events some rare one looks good by chance: what is promised must hold for all of them together
    false_alarm /= 4 * len(ranks) * first.shape[1]
    best: tuple[float, tuple[int, float, bool, bool]] = (-math.inf, (0, 0.0, True, False))
    for column in range(first.shape[1]):
        a, b = np.sort(first[:, column]), np.sort(second[:, column])
        thresholds = np.unique(np.sort(np.concatenate([a, b]))[ranks])
        below_a, below_b = np.searchsorted(a, thresholds, "right"), np.searchsorted(b, thresholds, "right")
        for above in (True, False):
            at_a, at_b = (runs - below_a, runs - below_b) if above else (below_a, below_b)
            for swapped in (False, True):
                values = _least(*((at_a, at_b) if swapped else (at_b, at_a)), runs, claim, false_alarm)
                at = int(values.argmax())
                if values[at] > best[0]:
                    best = float(values[at]), (column, float(thresholds[at]), above, swapped)
    return best[1]


def _ranks(count: int) -> Array:
    """Positions among so many sorted numbers: dense at both ends."""
    steps = np.unique(np.geomspace(1, count // 2, 30).astype(int)) - 1
    return np.unique(np.concatenate([steps, count - 1 - steps]))


def _count(values: Array, threshold: float, above: bool) -> int:
    return int((values > threshold).sum() if above else (values <= threshold).sum())
