"""Procedures: private answers that are not noise on a sum. A mechanism gets one through ``curator.ask(procedure)``.

A procedure sees rows, so only dpbench's own classes may be asked. Each brings its price, its proof, and what an audit checks: the
additive query whose moves between neighbours decide how well the answer tells them apart.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from dpbench.accounting.costs import Cost, LedgerEntry
from dpbench.data.samples import Sample
from dpbench.privacy.queries.query import Query

Array = np.ndarray
Exact = Callable[[Query], Array]
"""Return the exact answer of each run to a query: (runs, size)."""


class Procedure(ABC):
    """A private answer with a law of its own. Subclasses are frozen dataclasses of plain data and queries."""

    name: str
    """It appears in the ledger, and names the random streams."""
    proof: str
    measure: ClassVar[str] = "sensitivity"
    """What the bound is called."""
    opaque: ClassVar[bool] = False
    """Whether it runs a program that no replay can see into: only whole fits can be audited."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The price of one answer, if :meth:`moved` is at most 1 for all neighbours."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """A text that identifies the procedure with its parameters: an audit compares it between neighbours."""

    @abstractmethod
    def answer(self, sample: Sample, exact: Exact, generators: Sequence[np.random.Generator]) -> Array:
        """Return one private answer for each run of a sample, each drawn from its own generator: (runs, size)."""

    def given(self, answer: Array) -> "Procedure":
        """Return the procedure that is asked how far its query moved, where that also depends on the answer."""
        return self

    @abstractmethod
    def judged_by(self, answer: Array) -> Query:
        """Return the query whose answers on two tables decide how likely this answer is on either of them."""

    @abstractmethod
    def moved(self, one: Array, other: Array, run: int | None = None) -> Array:
        """Return how far apart two answers to that query are, in units of what the price pays for: (…,).

        Arrays are (runs, size), or with ``run`` any number of answers for this run.
        """

    def ledger_entry(self) -> LedgerEntry:
        """Return the ledger's entry of one answer."""
        return LedgerEntry(self.name, self.cost, True, self.proof)
