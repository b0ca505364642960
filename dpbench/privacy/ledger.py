"""The ledger lists every private answer with its price, and keeps a budget that cannot be overspent."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

from dpbench.accounting.calibration import recorded
from dpbench.accounting.composition import TOTALS, Guarantee, compose
from dpbench.accounting.costs import COSTS, Cost, Currency, LedgerEntry, Nothing
from dpbench.base.options import check_options, option
from dpbench.data.geometry import Neighbours
from dpbench.records.leaks import UNPROVEN_NOISE, Leak

Accounting = Literal["closed", "pld"]

ROUNDING = 1e-9
"""Relative slack for the rounding of sums such as ε/3 + ε/3 + ε/3."""


class Overspent(Exception):
    """A call that would cost more than what is left of the budget."""


@dataclass(frozen=True)
class Budget:
    """What a fit may spend: ε in the currency in which the mechanism's paper counts it, and δ."""

    name: ClassVar[str] = "the budget"

    epsilon: float = option(1.0, low=0, open_low=True)
    delta: float = option(1e-6, low=0, high=1, open_low=True, open_high=True)
    currency: Currency = "approx"
    accounting: Accounting = "closed"
    """How a ledger within this budget is added up: ``closed`` forms, or privacy-loss distributions (``pld``)."""

    def __post_init__(self) -> None:
        check_options(self, self.name)

    def share(self, fraction: float) -> Self:
        """Return a budget with a fraction of this one's ε."""
        return replace(self, epsilon=self.epsilon * fraction)

    def spent(self, costs: Sequence[Cost]) -> float:
        """Return the total of the costs in the budget's own currency; infinite if they cannot be counted in it."""
        return _spent(self.currency, self.delta, tuple(cost for cost in costs if not isinstance(cost, Nothing)))


@lru_cache(maxsize=4096)
def _spent(currency: Currency, delta: float, costs: tuple[Cost, ...]) -> float:
    """Return a total. Runs that ask one by one pay the same costs again and again, and each total is a root."""
    return TOTALS[currency](costs, delta)


class Ledger:
    """The entries in the order of the calls, the leaks, and the budget that must not be overspent.

    Each run is a fit of its own. An answer for all runs is entered for each, an answer for a single run for that run alone.
    """

    def __init__(
        self,
        budget: Budget,
        entries: Iterable[LedgerEntry] = (),
        leaks: Iterable[Leak] = (),
        neighbours: Neighbours = "replace_one",
    ) -> None:
        self.budget = budget
        self.neighbours = neighbours
        self.leaks = list(leaks)
        self._common = list(entries)
        """What all runs paid: all there is for a run that paid for nothing else."""
        self._of_run: dict[int, list[LedgerEntry]] = {}
        """Everything that was paid for the runs that also paid on their own."""

    @property
    def entries(self) -> list[LedgerEntry]:
        """What a fit paid: the entries that all runs share with the range of their scales, or those of the costliest run."""
        return _merged(self._of_run.values(), self.budget) if self._of_run else list(self._common)

    def of_run(self, run: int | None) -> list[LedgerEntry]:
        """Return what was paid for one run, or with None for all of them."""
        return list(self._common if run is None else self._of_run.get(run, self._common))

    def spend(self, entry: LedgerEntry, run: int | None = None) -> None:
        """Write an entry for one run or for all, or refuse it if it overspends: to be called before anything is drawn."""
        if type(entry.cost) not in COSTS:
            raise TypeError(f"The cost of {entry.query!r} must be in a currency of dpbench. Got {type(entry.cost).__name__}.")
        if not all(value >= 0 for value in vars(entry.cost).values()):
            raise ValueError(f"The cost of {entry.query!r} must not be negative. Got {entry.cost} instead.")
        paid = [self._common, *self._of_run.values()] if run is None else [self._of_run.get(run, self._common)]
        total = max(self.budget.spent([*(line.cost for line in lines), entry.cost]) for lines in paid)
        if total > self.budget.epsilon * (1 + ROUNDING):
            text = (
                f"The query {entry.query!r} would bring the cost to {total:.6g}, above the budget of {self.budget.epsilon:.6g} "
            )
            text += f"({self.budget.currency}). Nothing was drawn."
            if total == math.inf and self.budget.currency == "pure":
                text += ' Normal noise has no price in pure ε: a mechanism that uses it says currency = "approx".'
            raise Overspent(text)
        if run is not None:
            paid = [self._of_run.setdefault(run, list(self._common))]
        for lines in paid:
            lines.append(entry)
        if not entry.sound and not isinstance(entry.cost, Nothing):
            self.leak(UNPROVEN_NOISE)

    def leak(self, leak: Leak) -> None:
        """Name a leak, once."""
        if leak not in self.leaks:
            self.leaks.append(leak)

    @property
    def sound(self) -> bool:
        """Whether there are answers, and each carries a proof."""
        return not self.doubt

    @property
    def doubt(self) -> str:
        """Why the ledger is not sound; empty if it is."""
        entries = self.entries
        if not entries:
            return "nothing was asked of the curator, so no answer carries a proof"
        return next((f"{entry.query}: {entry.proof}" for entry in entries if not entry.sound), "")

    @property
    def total(self) -> Guarantee:
        """The (ε, δ) of everything that was released, by the budget's accounting."""
        return _total(self.entries, self.budget)

    def as_dict(self, requested: float | None = None) -> dict[str, Any]:
        """Return the content of the ledger file, whose total is the requested ε if only rounding separates the two."""
        total = self.total if requested is None else recorded(self.total, requested)
        return {
            "neighbours": self.neighbours,
            "entries": [entry.as_dict() for entry in self.entries],
            "total": {"epsilon": total.epsilon if total.private else None, "delta": total.delta},
            "leaks": [asdict(leak) for leak in self.leaks],
        }


def merge(ledgers: Iterable[Ledger]) -> Ledger:
    """Return one ledger for all runs of a cell, from those of its blocks."""
    first, *rest = ledgers
    entries = _merged([first.entries, *(ledger.entries for ledger in rest)], first.budget)
    merged = Ledger(first.budget, entries, first.leaks, first.neighbours)
    for ledger in rest:
        for leak in ledger.leaks:
            merged.leak(leak)
    return merged


def _merged(parts: Iterable[Sequence[LedgerEntry]], budget: Budget) -> list[LedgerEntry]:
    """Return one list of entries for several runs.

    If all runs made the same calls, the entries cover the range of their scales; otherwise the costliest run's entries count.
    """
    first, *rest = parts
    merged = list(first)
    for entries in rest:
        if list(map(_call, entries)) == list(map(_call, merged)):
            merged = [a.merged(b) for a, b in zip(merged, entries, strict=True)]
        elif _cost_order(entries, budget) > _cost_order(merged, budget):
            merged = list(entries)
    return merged


def _call(entry: LedgerEntry) -> tuple[str, Cost, bool]:
    return entry.query, entry.cost, entry.sound


def _cost_order(entries: Sequence[LedgerEntry], budget: Budget) -> tuple[bool, float]:
    """Return the key by which the costliest entries are the largest: unsound ones are worse than any ε."""
    return not all(entry.sound for entry in entries), _total(entries, budget).epsilon


def _total(entries: Sequence[LedgerEntry], budget: Budget) -> Guarantee:
    if budget.accounting == "closed":
        return compose([entry.cost for entry in entries], budget.delta)
    from dpbench.accounting.privacy_loss import total

    return total(entries, budget.delta)
