"""The lower bound on ε, from how often an event occurred in many runs on two neighbouring tables.

An event is a score above a threshold, or not above it. The event is chosen on the first half of the runs, where any choice is
allowed. It is then counted on the second half, once, and both frequencies get exact bounds (Clopper and Pearson 1934), each at
half of the false-alarm probability. For an (ε, δ) claim, ε is at least log((p_low - δ) / q_high). For normal noise, μ is at least
Φ⁻¹(p_low) - Φ⁻¹(q_high) (Nasr et al. 2023), which is much closer to the truth.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # scipy.special is imported when it is first used, as a replay needs none of it

from dpbench.accounting.conversion import epsilon_of_gdp
from dpbench.audit.scores import Scores
from dpbench.audit.subject import ClaimedPrivacy

LUCKY_EVENTS = 0.1
"""How many events may look better than they are, by chance, where one of them is chosen."""


@dataclass(frozen=True)
class EpsilonLowerBound:
    """A lower bound on ε that holds with the stated confidence, and the event that it rests on."""

    output: str
    """The name of the answer, or "weights"."""
    pair: str
    """Where the pair of neighbours comes from."""
    event: str
    runs: int
    """On each table, both halves."""
    confidence: float
    epsilon: float
    """Where the true ε is infinite, this grows like the logarithm of the runs."""
    mu: float | None
    """The lower bound on μ; None where the claim has no μ."""
    claim: ClaimedPrivacy

    @property
    def violation(self) -> str:
        """How the bound exceeds the claim, in a sentence; empty where it does not."""
        unit, bound, claim = "ε", self.epsilon, self.claim.epsilon
        if self.mu is not None and self.claim.mu is not None:
            unit, bound, claim = "μ", self.mu, self.claim.mu
        if bound <= claim:
            return ""
        verb = "weights have" if self.output == "weights" else f"answer {self.output!r} has"
        return (
            f"The {verb} {unit} >= {bound:.3g} where {claim:.3g} is claimed (confidence {self.confidence:.6g}, {self.runs:,} "
            f"runs a world, {self.pair} pair, {self.event})."
        )


def epsilon_lower_bound(
    scores: Scores, claim: ClaimedPrivacy, false_alarm: float, output: str = "", pair: str = ""
) -> EpsilonLowerBound:
    """Return the bound of the best event. It exceeds the true ε with a probability of at most ``false_alarm``."""
    runs, bound, event = scores.values.shape[1], 0.0, "nothing moved"
    if scores.names:
        half = runs // 2
        score, threshold, above, likely = _best_event(scores.values[:, :half], claim, false_alarm)
        values = scores.values[:, half:, score]
        counts = (values > threshold if above else values <= threshold).sum(axis=1)
        bound = max(float(_lower_bounds(counts[likely], counts[1 - likely], runs - half, claim, false_alarm)), 0.0)
        event = f"{scores.names[score]} {'>' if above else '<='} {threshold:.4g}"
    mu = None if claim.mu is None else bound
    epsilon = bound if mu is None else epsilon_of_gdp(mu, claim.delta)
    return EpsilonLowerBound(output, pair, event, runs, 1 - false_alarm, epsilon, mu, claim)


def clopper_pearson_upper(count: np.ndarray | int, runs: int, tail: float) -> np.ndarray:
    """Return the upper bound on a probability, which is exceeded with a probability of at most ``tail``."""
    count = np.asarray(count)
    return np.where(count >= runs, 1.0, scipy.special.betaincinv(count + 1, np.maximum(runs - count, 1), 1 - tail))


def clopper_pearson_lower(count: np.ndarray | int, runs: int, tail: float) -> np.ndarray:
    """Return the lower bound on a probability."""
    count = np.asarray(count)
    return np.where(count <= 0, 0.0, scipy.special.betaincinv(np.maximum(count, 1), runs - count + 1, tail))


def _best_event(values: np.ndarray, claim: ClaimedPrivacy, false_alarm: float) -> tuple[int, float, bool, int]:
    """Choose the event with the largest bound: its score, threshold and side, and the table on which it is likely."""
    _, runs, scores = values.shape
    ranks = _ranks(2 * runs)
    # Beyond the largest number of either table lies what that table may never give, and so below its least number.
    ends = [values.max(axis=1), np.nextafter(values.min(axis=1), -np.inf)]
    thresholds = np.concatenate([np.sort(values.reshape(2 * runs, scores), axis=0)[ranks], *ends]).T
    # Among thousands of events a rare one looks good by chance: together, few of their bounds may be too large here.
    # There are two sides of a threshold and two directions. The choice itself needs no confidence.
    false_alarm = min(false_alarm, LUCKY_EVENTS / (4 * thresholds.size))
    ordered = np.sort(values, axis=1)
    below = np.array([[np.searchsorted(table[:, at], thresholds[at], "right") for at in range(scores)] for table in ordered])
    counts = np.stack([runs - below, below], axis=2)  # (tables, scores, sides, thresholds)
    directions = [_lower_bounds(counts[likely], counts[1 - likely], runs, claim, false_alarm) for likely in (1, 0)]
    bounds = np.stack(directions, axis=2)  # (scores, sides, directions, thresholds)
    score, side, direction, rank = (int(at) for at in np.unravel_index(bounds.argmax(), bounds.shape))
    return score, float(thresholds[score, rank]), side == 0, 1 - direction


def _lower_bounds(likely: np.ndarray, other: np.ndarray, runs: int, claim: ClaimedPrivacy, false_alarm: float) -> np.ndarray:
    """Return the least ε (or μ) at which one event can occur this often on one table and on the other one."""
    p, q = clopper_pearson_lower(likely, runs, false_alarm / 2), clopper_pearson_upper(other, runs, false_alarm / 2)
    return least_privacy_loss(p, q, claim)


def least_privacy_loss(p: np.ndarray, q: np.ndarray, claim: ClaimedPrivacy) -> np.ndarray:
    """Return the least ε at the claim's δ (or μ, where one is claimed) at which an event has probabilities p and q."""
    if claim.mu is not None:
        return np.asarray(scipy.special.ndtri(p) - scipy.special.ndtri(q))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > claim.delta, np.log(np.maximum(p - claim.delta, 0)) - np.log(q), -np.inf)


def _ranks(count: int) -> np.ndarray:
    """Return positions among sorted numbers, dense at both ends, where rare events are."""
    steps = np.unique(np.geomspace(1, count // 2, 30).astype(int)) - 1
    return np.unique(np.concatenate([steps, count - 1 - steps]))
