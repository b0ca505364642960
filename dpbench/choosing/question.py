"""What a choice is asked: what is fixed, and what is wanted."""

import math
from dataclasses import dataclass

from dpbench.base.errors import Refused

DEFAULT_DELTA = 1e-6


@dataclass(frozen=True)
class Question:
    """The question of a choice. Of ``rows`` and ε one may be open: then it is what the answer looks for.

    ``error`` is the share of what is explained that may be lost: 0 is the non-private fit, 1 the mean predictor. ``rmse`` is a
    prediction error in the target's unit, ``interval`` the width of the coefficients' intervals, over that without privacy.
    ``risk`` limits ε: no attacker, whatever else he knows, guesses more often than this whether a row or another one was fitted.
    """

    rows: int | None = None
    epsilon: float | None = None
    delta: float = DEFAULT_DELTA
    error: float | None = None
    rmse: float | None = None
    interval: float | None = None
    risk: float | None = None

    def __post_init__(self) -> None:
        if self.rows is not None and (not isinstance(self.rows, int) or isinstance(self.rows, bool) or self.rows < 2):
            raise Refused(f"The number of rows must be a whole number of at least 2. Got {self.rows!r} instead.")
        _check("epsilon", self.epsilon, 0, math.inf)
        _check("delta", self.delta, 0, 1)
        _check("target_error", self.error, 0, 1)
        _check("target_rmse", self.rmse, 0, math.inf)
        _check("target_interval", self.interval, 1, math.inf)
        _check("target_risk", self.risk, 0.5, 1)
        if len(targets := [target for target in (self.error, self.rmse, self.interval) if target is not None]) > 1:
            raise Refused("A choice has one target: target_error, target_rmse or target_interval. Got several.")
        if self.risk is not None and self.epsilon is not None:
            raise Refused("The keys epsilon and target_risk both say how much privacy is wanted: leave one of them out.")
        fixed = self.epsilon is not None or self.risk is not None
        if not targets and not (self.rows is not None and fixed):
            raise Refused(
                "A choice needs a target, such as target_error=10%; or rows= and epsilon= (or target_risk=), to tell the errors."
            )
        if targets and self.rows is None and not fixed:
            raise Refused("A choice needs rows=, to look for ε; or epsilon= (or target_risk=), to look for the number of rows.")

    @property
    def has_target(self) -> bool:
        """Whether an error or a width is wanted."""
        return any(target is not None for target in (self.error, self.rmse, self.interval))

    @property
    def allowed_epsilon(self) -> float | None:
        """The ε that is fixed: as it is, or as the risk of an attack allows; None if it is open."""
        # rounded down to what an answer shows: the command that it prints must not exceed the risk
        return self.epsilon if self.risk is None else math.floor(epsilon_of_risk(self.risk, self.delta) * 1e4) / 1e4


def epsilon_of_risk(risk: float, delta: float) -> float:
    """Return the largest ε at which no attack guesses right with a higher probability.

    Under (ε, δ) a guess between two tables that are equally likely is right with probability (e^ε + δ)/(1 + e^ε) at most
    (Kairouz, Oh and Viswanath 2015, Theorem 2.1), which some mechanism attains.
    """
    if risk - delta <= 1 - risk:
        raise Refused(f"A risk of {risk:g} is met by no ε at δ = {delta:g}: name a larger risk, or a smaller delta.")
    return math.log((risk - delta) / (1 - risk))


def risk_of_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest probability with which an attack guesses right: the inverse of :func:`epsilon_of_risk`."""
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def _check(key: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not (isinstance(value, (int, float)) and low < value < high):
        limits = f"above {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise Refused(f"The key {key!r} must be a number {limits}. Got {value!r} instead.")
