"""The ledger lists every private answer with its price, and keeps a budget that cannot be overspent."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from dpbench.accounting.composition import TOTALS, Guarantee, compose
from dpbench.accounting.costs import Cost, Currency, LedgerEntry, Nothing
from dpbench.base.options import check_options, option
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
        return TOTALS[self.currency]([cost for cost in costs if not isinstance(cost, Nothing)], self.delta)


@dataclass
class Ledger:
    """The entries in the order of the calls, the leaks, and the budget that must not be overspent."""

    budget: Budget
    entries: list[LedgerEntry] = field(default_factory=list)
    leaks: list[Leak] = field(default_factory=list)

    def spend(self, entry: LedgerEntry) -> None:
        """Write an entry, or refuse it if it overspends: to be called before anything is drawn."""
        total = self.budget.spent([*(line.cost for line in self.entries), entry.cost])
        if total > self.budget.epsilon * (1 + ROUNDING):
            raise Overspent(
                f"The query {entry.query!r} would bring the cost to {total:.6g}, above the budget of {self.budget.epsilon:.6g} "
                f"({self.budget.currency}). Nothing was drawn."
            )
        self.entries.append(entry)
        if not entry.sound and not isinstance(entry.cost, Nothing):
            self.leak(UNPROVEN_NOISE)

    def leak(self, leak: Leak) -> None:
        """Name a leak, once."""
        if leak not in self.leaks:
            self.leaks.append(leak)

    @property
    def sound(self) -> bool:
        """Whether every answer carries a proof."""
        return all(entry.sound for entry in self.entries)

    @property
    def total(self) -> Guarantee:
        """The (ε, δ) of everything that was released, by the budget's accounting."""
        if self.budget.accounting == "closed":
            return compose([entry.cost for entry in self.entries], self.budget.delta)
        from dpbench.accounting.privacy_loss import total

        return total(self.entries, self.budget.delta)

    def as_dict(self) -> dict[str, Any]:
        """Return the content of the ledger file."""
        total = self.total
        return {
            "neighbours": "replace_one",
            "entries": [entry.as_dict() for entry in self.entries],
            "total": {"epsilon": total.epsilon if total.private else None, "delta": total.delta},
            "leaks": [asdict(leak) for leak in self.leaks],
        }


def merge(ledgers: Iterable[Ledger]) -> Ledger:
    """Return one ledger for all runs of a cell.

    If all runs made the same calls, the entries cover the range of their scales; otherwise the costliest run's entries count.
    """
    first, *rest = ledgers
    merged = Ledger(first.budget, list(first.entries), list(first.leaks))
    for ledger in rest:
        if _calls(ledger) == _calls(merged):
            merged.entries = [a.merged(b) for a, b in zip(merged.entries, ledger.entries, strict=True)]
        elif _cost_order(ledger) > _cost_order(merged):
            merged.entries = list(ledger.entries)
        for leak in ledger.leaks:
            merged.leak(leak)
    return merged


def _calls(ledger: Ledger) -> list[tuple[str, Cost, bool]]:
    return [(entry.query, entry.cost, entry.sound) for entry in ledger.entries]


def _cost_order(ledger: Ledger) -> tuple[bool, float]:
    """Return the key by which the costliest ledger is the largest: an unsound one is worse than any ε."""
    return not ledger.sound, ledger.total.epsilon
