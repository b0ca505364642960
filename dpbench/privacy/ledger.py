"""The ledger: every private answer with its price, and a budget that cannot be overspent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from dpbench.accounting.composition import Guarantee, compose
from dpbench.accounting.costs import Cost, Currency, Gdp, Nothing, Pure, Zcdp
from dpbench.base.options import check_options, option
from dpbench.privacy.noise import Noise
from dpbench.records.leaks import UNPROVEN_NOISE, Leak

Accounting = Literal["closed", "pld"]

ROUNDING = 1e-9
"""Relative slack for the rounding of sums such as ε/3 + ε/3 + ε/3."""


class Overspent(Exception):
    """A call would cost more than what is left of the budget."""


@dataclass(frozen=True)
class Budget:
    """What a fit may spend: ε in the currency in which the mechanism's paper counts it, and δ."""

    name: ClassVar[str] = "the budget"

    epsilon: float = option(1.0, low=0, open_low=True)
    delta: float = option(1e-6, low=0, high=1, open_low=True, open_high=True)
    currency: Currency = "approx"
    accounting: Accounting = "closed"
    """How a ledger within this budget is totalled."""

    def __post_init__(self) -> None:
        check_options(self, self.name)

    def share(self, fraction: float) -> Budget:
        """A part of the budget's ε."""
        return replace(self, epsilon=self.epsilon * fraction)

    def spent(self, costs: Sequence[Cost]) -> float:
        """The costs in the budget's own currency; infinite where they cannot be counted in it."""
        guaranteed = [cost for cost in costs if not isinstance(cost, Nothing)]
        pure = [cost.epsilon for cost in guaranteed if isinstance(cost, Pure)]
        rho = [cost.rho for cost in guaranteed if isinstance(cost, Zcdp)]
        mu = [cost.mu for cost in guaranteed if isinstance(cost, Gdp)]
        if self.currency == "pure":
            return math.fsum(pure) if len(pure) == len(guaranteed) else math.inf
        if self.currency == "zcdp":
            known = len(pure) + len(rho) + len(mu) == len(guaranteed)
            squares = math.fsum(value * value for value in (*pure, *mu)) / 2
            return math.fsum(rho) + squares if known else math.inf
        if self.currency == "gdp":
            return math.sqrt(math.fsum(value * value for value in mu)) if len(mu) == len(guaranteed) else math.inf
        return compose(guaranteed, self.delta).epsilon


@dataclass(frozen=True)
class LedgerEntry:
    """One line of the ledger."""

    query: str
    cost: Cost
    sound: bool
    proof: str
    norm: str | None = None
    noise: str | None = None
    sensitivity: float | None = None
    bound: float | None = None
    scale: tuple[float, float] | None = None
    """The smallest and the largest scale, over coefficients and runs."""

    @classmethod
    def of(cls, query: str, noise: Noise) -> LedgerEntry:
        scale = (float(noise.scale.min()), float(noise.scale.max()))
        return cls(
            query, noise.cost, True, noise.proof, noise.law.norm, noise.law.name, noise.sensitivity, float(noise.bound), scale
        )

    def merged(self, other: LedgerEntry) -> LedgerEntry:
        """The same call in two blocks of runs: the scales' range covers both."""
        if self.scale is None or other.scale is None or self.scale == other.scale:
            return self
        scale = (min(self.scale[0], other.scale[0]), max(self.scale[1], other.scale[1]))
        return replace(self, scale=scale, sensitivity=None)

    def as_dict(self) -> dict[str, Any]:
        scale: Any = None
        if self.scale is not None:
            low, high = self.scale
            scale = low if low == high else {"smallest": low, "largest": high}
        return {
            "query": self.query,
            "norm": self.norm,
            "sensitivity": self.sensitivity,
            "bound": self.bound,
            "noise": self.noise,
            "scale": scale,
            "cost": self.cost.as_dict(),
            "sound": self.sound,
            "proof": self.proof,
        }


@dataclass
class Ledger:
    """Entries in the order of the calls, the leaks beside them, and the limit they keep."""

    budget: Budget
    entries: list[LedgerEntry] = field(default_factory=list)
    leaks: list[Leak] = field(default_factory=list)

    def spend(self, entry: LedgerEntry) -> None:
        """Write an entry, or refuse it when it would overspend: called before anything is drawn."""
        after = self.budget.spent([*(line.cost for line in self.entries), entry.cost])
        if after > self.budget.epsilon * (1 + ROUNDING):
            raise Overspent(
                f"The query {entry.query!r} would bring the cost to {after:.6g}, above the budget of {self.budget.epsilon:.6g} "
                f"({self.budget.currency}). Nothing was drawn."
            )
        self.entries.append(entry)
        if not entry.sound and not isinstance(entry.cost, Nothing):
            self.leak(UNPROVEN_NOISE)

    def leak(self, leak: Leak) -> None:
        if leak not in self.leaks:
            self.leaks.append(leak)

    @property
    def sound(self) -> bool:
        """Everything released carries a proof, and something is guaranteed."""
        return all(entry.sound for entry in self.entries)

    @property
    def total(self) -> Guarantee:
        """What everything released comes to, by the budget's accounting."""
        return ACCOUNTANTS[self.budget.accounting](self.entries, self.budget.delta)

    def as_dict(self) -> dict[str, Any]:
        total = self.total
        return {
            "neighbours": "replace_one",
            "entries": [entry.as_dict() for entry in self.entries],
            "total": {"epsilon": total.epsilon if total.private else None, "delta": total.delta},
            "leaks": [{"what": leak.what, "why": leak.why} for leak in self.leaks],
        }


def _closed(entries: Sequence[LedgerEntry], delta: float) -> Guarantee:
    return compose([entry.cost for entry in entries], delta)


def _tight(entries: Sequence[LedgerEntry], delta: float) -> Guarantee:
    from dpbench.accounting.privacy_loss import total

    return total(entries, delta)


ACCOUNTANTS: dict[Accounting, Callable[[Sequence[LedgerEntry], float], Guarantee]] = {"closed": _closed, "pld": _tight}


def merge(ledgers: Iterable[Ledger]) -> Ledger:
    """One ledger for all runs of a cell: the same calls with the range of their scales, else the costliest run's."""
    first, *rest = ledgers
    merged = Ledger(first.budget, list(first.entries), list(first.leaks))
    for ledger in rest:
        same = len(ledger.entries) == len(merged.entries) and all(
            (a.query, a.cost, a.sound) == (b.query, b.cost, b.sound) for a, b in zip(merged.entries, ledger.entries, strict=True)
        )
        if same:
            merged.entries = [a.merged(b) for a, b in zip(merged.entries, ledger.entries, strict=True)]
        elif _worse(ledger, merged):
            merged.entries = list(ledger.entries)
        for leak in ledger.leaks:
            merged.leak(leak)
    return merged


def _worse(one: Ledger, other: Ledger) -> bool:
    return (not one.sound, one.total.epsilon) > (not other.sound, other.total.epsilon)
