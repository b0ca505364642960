"""The budget book: what the releases of each table have cost together, and the ceiling that the owner of the table sets.

A release enters what it may spend at most before any noise is drawn, in the currency in which its mechanism counts. The entry
counts from then on, whatever becomes of the release: a crash costs budget, never privacy. It is taken back only where the
fit ended before it asked the rows anything.

Entries compose as the answers of one ledger do (:func:`dpbench.accounting.composition.compose`). If all are pure, their ε are
added (basic composition, which holds for budgets that were chosen after seeing earlier releases, too). Otherwise costs of one
currency are added in it (ε, ρ, μ²), and the smallest ε that is proven for all together at the ceiling's δ counts; which
bound is the smallest must not be steered by what earlier releases showed.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from dpbench.accounting.composition import compose
from dpbench.accounting.costs import Approx, Cost, Gdp, Pure, Zcdp, cost_of
from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path
from dpbench.contracts.dataset import Dataset
from dpbench.files.chained_file import ChainedFile, Record
from dpbench.files.digest_key import keyed_digest, user_folder
from dpbench.privacy.ledger import ROUNDING, Budget

VARIABLE = "DPBENCH_BUDGET_BOOK"
"""The environment variable that names another file, such as one that several users share."""
DEFAULT_DELTA = 1e-5
"""The δ of a ceiling that names none: room for ten (ε, δ) releases of the default δ."""
ANY_TABLE = ""
"""The table of a ceiling that holds for every table without one of its own."""


@dataclass(frozen=True)
class Ceiling:
    """The (ε, δ) that all releases of a table together may cost; an infinite ε where the owner has set none."""

    epsilon: float = math.inf
    delta: float = DEFAULT_DELTA

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and 0 < self.delta < 1):
            raise Refused(f"A ceiling must be a positive ε and a δ between 0 and 1. Got {self.epsilon:g} and {self.delta:g}.")

    def total(self, costs: Sequence[Cost]) -> float:
        """Return the ε of costs together: the sum if all are pure, otherwise the one at δ."""
        return compose(costs, self.delta).epsilon

    def check(self, spent: Sequence[Cost], cost: Cost) -> None:
        """Refuse a release that would exceed the ceiling."""
        if self.total([*spent, cost]) > self.epsilon * (1 + ROUNDING):
            hint = (
                "" if self.total([*spent, cost]) < math.inf else " The δ of its releases add up: a ceiling's delta= allows more."
            )
            raise Refused(
                f"This release would bring what this table has spent from ε = {self.total(spent):.6g} to "
                f"{self.total([*spent, cost]):.6g} at δ = {self.delta:g}, above its ceiling of {self.epsilon:g}. Nothing was "
                f"drawn or spent. `python -m dpbench budget` shows what was spent.{hint}"
            )


@dataclass(frozen=True)
class Payer:
    """The table that pays for a release, as it was when this was made: its file may be replaced later."""

    label: str
    source: str
    """The text that names the rows, whatever columns and bounds a release uses."""
    synthetic: bool = False

    @classmethod
    def of(cls, dataset: Dataset) -> Self:
        """Return the table of a dataset as it is now."""
        return cls(dataset.display_name, dataset.source() or dataset.name, dataset.synthetic)

    @property
    def digest(self) -> str:
        """The keyed digest that names the table in the book."""
        return keyed_digest("budget book", self.source.encode())


@dataclass(frozen=True)
class BookEntry:
    """A release in the book."""

    table: str
    label: str
    cost: Cost
    neighbours: str
    mechanism: str
    file: str
    time: str
    state: str
    """``written``, ``taken back`` or, where the release did not end in a file, ``not written``."""

    @property
    def counts(self) -> bool:
        """Whether the entry is spent."""
        return self.state != "taken back"


class BudgetBook:
    """The book of this user, or the one that DPBENCH_BUDGET_BOOK names."""

    def __init__(self, path: Path | None = None) -> None:
        named = os.environ.get(VARIABLE)
        self._file = ChainedFile(path or (user_path(named) if named else user_folder() / "budget_book.jsonl"))

    def reserve(self, payer: Payer, budget: Budget, neighbours: str, mechanism: str, file: str) -> str:
        """Enter the most that a release may spend, or refuse it; return the hash that names the entry."""
        table, cost = payer.digest, cost_of_budget(budget)

        def decide(records: Sequence[Record]) -> Record:
            ceiling_in(records, table).check(spent_in(records, table), cost)
            entry = {"table": table, "label": payer.label, "cost": cost.as_dict(), "neighbours": neighbours}
            return {"kind": "release", **entry, "mechanism": mechanism, "file": file, "time": _now()}

        return str(self._file.append(decide)["hash"])

    def mark(self, entry: str, state: str) -> None:
        """Note what became of a release: ``written`` or ``taken back``."""
        self._file.append(lambda _: {"kind": state, "entry": entry, "time": _now()})

    def set_ceiling(self, ceiling: Ceiling, table: str = ANY_TABLE) -> None:
        """Set the ceiling of a table, or of every table that has none of its own."""
        record = {"kind": "ceiling", "table": table, "epsilon": ceiling.epsilon, "delta": ceiling.delta, "time": _now()}
        self._file.append(lambda _: record)

    def records(self) -> list[Record]:
        """Return everything in the book; refuse a broken one."""
        return self._file.read()


class Reservation:
    """One release's place in the book, for the steps of the release that know when to enter, take back and mark it."""

    def __init__(self, book: BudgetBook, mechanism: str, file: str, payer: Payer | None = None) -> None:
        self._book, self._mechanism, self._file_name = book, mechanism, file
        self._payer = payer
        """The table that pays, where the fitted rows come from elsewhere: from a DataFrame, say."""
        self._entry: str | None = None

    def __call__(self, table: Payer, budget: Budget, neighbours: str) -> Callable[[], None]:
        """Enter the release before noise is drawn; return what takes it back. Synthetic rows belong to nobody."""
        if table.synthetic:
            return lambda: None
        payer = self._payer or table
        self._entry = entry = self._book.reserve(payer, budget, neighbours, self._mechanism, self._file_name)

        def take_back() -> None:
            self._book.mark(entry, "taken back")
            self._entry = None

        return take_back

    @property
    def entered(self) -> bool:
        """Whether the release is in the book, and was not taken back."""
        return self._entry is not None

    def written(self) -> None:
        """Mark that the file of the release was written."""
        if self._entry is not None:
            self._book.mark(self._entry, "written")


def cost_of_budget(budget: Budget) -> Cost:
    """Return the most that a fit with this budget may spend, in its currency."""
    epsilon = budget.epsilon
    costs = {"pure": Pure(epsilon), "zcdp": Zcdp(epsilon), "gdp": Gdp(epsilon), "approx": Approx(epsilon, budget.delta)}
    return costs[budget.currency]


def ceiling_in(records: Sequence[Record], table: str) -> Ceiling:
    """Return the ceiling of a table: its own, the one of all tables, or none."""
    ceilings = {record["table"]: Ceiling(record["epsilon"], record["delta"]) for record in records if record["kind"] == "ceiling"}
    return ceilings.get(table) or ceilings.get(ANY_TABLE) or Ceiling()


def spent_in(records: Sequence[Record], table: str) -> list[Cost]:
    """Return the costs of a table's releases that count."""
    return [entry.cost for entry in entries_in(records) if entry.table == table and entry.counts]


def entries_in(records: Sequence[Record]) -> list[BookEntry]:
    """Return the releases in the order in which they were entered."""
    states = {record["entry"]: record["kind"] for record in records if "entry" in record}
    names = ("table", "label", "neighbours", "mechanism", "file", "time")
    return [
        BookEntry(
            **{name: record[name] for name in names},
            cost=cost_of(record["cost"]),
            state=states.get(record["hash"], "not written"),
        )
        for record in records
        if record["kind"] == "release"
    ]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
