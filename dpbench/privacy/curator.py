"""The Curator: the private rows behind noisy answers. It draws the noise and keeps the ledger.

A mechanism never sees a row. Each private answer is one call, and the call itself writes what it costs, so that the
accounted ε cannot differ from the noise that was drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np

from dpbench.accounting.costs import Cost, Nothing, Pure
from dpbench.data.bins import BinCounts, spell_count
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.privacy.histogram import Histogram, Scan
from dpbench.privacy.ledger import Budget, Ledger, LedgerEntry, merge
from dpbench.privacy.noise import Geometric, Noise
from dpbench.privacy.query import Query
from dpbench.privacy.sparse_histogram import MOST, summary, survivors
from dpbench.privacy.standard_draws import Draws
from dpbench.records.leaks import Leak

T = TypeVar("T")

__all__ = ["Answer", "Call", "Curator", "Draws"]


@dataclass(frozen=True)
class Answer:
    """What a call saw and said: kept on the tape of an audited curator only, never in a record."""

    query: str
    identity: str
    exact: Any = field(repr=False)
    """(runs, coefficients), or one tally a run where cells are counted."""
    noise: Noise | None
    """None where the noise has no proof."""
    noisy: Any = field(repr=False)
    """What was returned."""
    run: int | None = None
    """The run it was asked for, where a mechanism looks at one run at a time."""
    call: Call | None = field(default=None, repr=False)
    """How it was asked, for an audit to ask again."""


@dataclass(frozen=True)
class Call:
    """One call of a curator: the method, the query as it was, on which columns, and the other arguments."""

    method: Literal["release", "until", "scan", "sparse", "unproven"]
    query: Query
    geometry: Geometry
    cost: Cost
    arguments: tuple[Any, ...] = ()


class Curator:
    """Answers queries about a block of runs with noise, within a budget.

    Use :meth:`release` for "noise on a sum", :meth:`until` to draw again until the answer is accepted, :meth:`scan` and
    :meth:`sparse` for histograms of more cells than memory holds for all runs at once; what is not proven private goes through
    :meth:`unproven`, what is not private at all through :meth:`reveal`. Both are loud in the ledger.
    """

    def __init__(
        self, sample: Sample, draws: Draws, budget: Budget, leaks: Sequence[Leak] = (), paid: Sequence[LedgerEntry] = ()
    ) -> None:
        self._sample = sample
        self._draws = draws
        self._calls: Counter[str] = Counter(entry.query for entry in paid)
        self.tape: list[Answer] | None = None
        self.ledger = Ledger(budget, list(paid), list(leaks))

    @property
    def geometry(self) -> Geometry:
        """Public facts about the design."""
        return self._sample.geometry

    @property
    def n(self) -> np.ndarray:
        """Training rows of each run: public under replace-one."""
        return self._sample.n

    @property
    def runs(self) -> int:
        return self._sample.runs

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        """The query's sum for each run, with noise: (runs, coefficients)."""
        self._fits(query, noise)
        call = self._pay(LedgerEntry.of(query.name, noise))
        exact = query.exact(self._sample)
        asked = Call("release", query, self.geometry, noise.cost)
        return self._tell(asked, query.identity, exact, noise, exact + self._draw(noise, query, call))

    def until(
        self, query: Query, noise: Noise, accept: Callable[[int, np.ndarray], bool], max_tries: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw anew until the answer is accepted; ``accept(run, answer)`` decides. Costs twice the noise's ε.

        Zhang et al. 2012, Lemma 5: both the density of an accepted answer and the chance of acceptance move by at most e^ε.
        With ``max_tries`` the fallback (the last answer) has no such bound, so the entry carries no guarantee.
        Returns the answers and whether each was accepted.
        """
        self._fits(query, noise)
        cost = noise.cost
        if not isinstance(cost, Pure):
            raise ValueError("Drawing until accepted is proven for pure ε only.")
        paid: Cost = Pure(2 * cost.epsilon) if max_tries is None else Nothing()
        proof = "Zhang et al. 2012, Lemma 5" if max_tries is None else f"none: the loop is capped at {max_tries} tries"
        call = self._pay(replace(LedgerEntry.of(query.name, noise), cost=paid, proof=proof, sound=max_tries is None))
        exact = query.exact(self._sample)
        answers = np.empty((self.runs, query.size))
        accepted = np.zeros(self.runs, dtype=bool)
        for run in range(self.runs):
            scale = noise.scale[run if len(noise.scale) > 1 else 0]
            generator = self._draws.generator(run, query.name, call)
            tries = 0
            while not accepted[run] and (max_tries is None or tries < max_tries):
                answers[run] = exact[run] + noise.law.shape(noise.law.standard(generator, query.size), scale)
                accepted[run] = accept(run, answers[run])
                tries += 1
        asked = Call("until", query, self.geometry, paid, (accept, max_tries))
        return self._tell(asked, until_identity(query, max_tries), exact, noise, answers), accepted

    def scan(self, query: Histogram, noise: Noise, step: int) -> Scan:
        """Every cell's count with noise, drawn in blocks of ``step`` cells when they are asked for, the same at every pass."""
        if len(query.grid.index_axes) > 1:
            raise ValueError(f"A grid of {spell_count(query.size)} cells cannot be scanned.")
        call = self._pay_for_cells(query, noise)
        draws = self._draws
        scan = Scan(query, self._sample, noise, lambda run, block: draws.generator(run, query.name, call, block), step)
        if self.tape is not None:
            self._count(Call("scan", query, self.geometry, noise.cost, (step,)), f"in steps of {step}", noise, scan)
        return scan

    def sparse(self, query: Histogram, noise: Noise, threshold: int, size: int) -> Iterator[BinCounts]:
        """At most ``size`` cells a run, sampled by priority among those whose noisy count reaches the threshold.

        The law is exactly that of noise on every cell, and empty cells are not visited (:mod:`dpbench.privacy.sparse_histogram`).
        Runs come one after the other, and only one of them is in memory.
        """
        if not isinstance(noise.law, Geometric):
            raise ValueError("Empty cells can be skipped for geometric noise only.")
        if threshold < 1 or size < 1:
            raise ValueError(f"The threshold and the size must be at least 1. Got {threshold} and {size} instead.")
        expected = survivors(query.size, threshold, float(noise.scale.max()))
        if expected > MOST:
            raise ValueError(f"A threshold must let at most {MOST:,} empty cells through. Got {expected:.3g} instead.")
        call = self._pay_for_cells(query, noise)

        def drawn() -> Iterator[BinCounts]:
            for run in range(self.runs):
                scale = float(noise.scale[run if len(noise.scale) > 1 else 0, 0])
                generator = self._draws.generator(run, query.name, call)
                yield summary(query.tally(self._sample, run), query.grid, scale, threshold, size, generator)

        if self.tape is None:
            return drawn()
        kept = tuple(drawn())
        asked = Call("sparse", query, self.geometry, noise.cost, (threshold, size))
        self._count(asked, f"at least {threshold}, {size} of them", noise, kept)
        return iter(kept)

    def unproven(
        self, query: Query, sampler: Callable[[np.ndarray, np.random.Generator], np.ndarray], claimed: Cost, reason: str
    ) -> np.ndarray:
        """Published noise whose privacy is not proven: the sampler gets one run's exact answer. Never sound."""
        call = self._pay(LedgerEntry(query.name, claimed, sound=False, proof=f"unproven: {reason}"))
        exact = query.exact(self._sample)
        noisy = np.stack([sampler(exact[run], self._draws.generator(run, query.name, call)) for run in range(self.runs)])
        asked = Call("unproven", query, self.geometry, claimed, (sampler, claimed, reason))
        return self._tell(asked, unproven_identity(query, claimed), exact, None, noisy)

    def reveal(self, what: str, compute: Callable[[Sample], T], reason: str) -> T:
        """Something that is not private at all: the non-private fit, a choice made on the exact data."""
        self._pay(LedgerEntry(what, Nothing(), sound=False, proof=f"not private: {reason}"))
        return compute(self._sample)

    def leak(self, what: str, why: str, compute: Callable[[Sample], T]) -> T:
        """Something chosen on the exact data that ε does not count, as papers do: a named leak on every record."""
        self.ledger.leak(Leak(what, why))
        return compute(self._sample)

    def without(self, attributes: Sequence[str]) -> Curator:
        """A curator of the same rows without these attributes, with this one's ledger and streams."""
        narrow = Curator(self._sample.without(attributes), self._draws, self.ledger.budget)
        narrow.ledger, narrow._calls, narrow.tape = self.ledger, self._calls, self.tape
        return narrow

    def one(self, run: int) -> Curator:
        """A curator of a single run, with the same streams and a ledger of its own that begins where this one stands."""
        ledger = self.ledger
        single = Curator(self._sample.one(run), self._draws.one(run), ledger.budget, ledger.leaks, ledger.entries)
        single._calls = Counter(self._calls)
        single.tape = None if self.tape is None else []
        return single

    def adopt(self, singles: Sequence[Curator]) -> None:
        """Take over what curators of single runs, one for each run in order, have paid, called and taped."""
        merged = merge(single.ledger for single in singles)
        self.ledger.entries[:] = merged.entries
        for leak in merged.leaks:
            self.ledger.leak(leak)
        for run, single in enumerate(singles):
            self._calls |= single._calls
            if self.tape is not None:
                self.tape += [replace(answer, run=run) for answer in single.tape or []]

    def _fits(self, query: Query, noise: Noise) -> None:
        rows, width = noise.scale.shape
        if rows not in (1, self.runs) or width not in (1, query.size):
            raise ValueError(
                f"The noise on {query.name!r} must have scales of shape (1 or {self.runs}, 1 or {query.size}). "
                f"Got {noise.scale.shape} instead."
            )

    def _pay(self, entry: LedgerEntry) -> int:
        """Write the entry (refused when it overspends) and count the call."""
        self.ledger.spend(entry)
        call = self._calls[entry.query]
        self._calls[entry.query] += 1
        return call

    def _pay_for_cells(self, query: Histogram, noise: Noise) -> int:
        self._fits(query, noise)
        if noise.scale.shape[1] != 1:
            raise ValueError(f"The noise on {query.name!r} must have one scale for all cells.")
        return self._pay(LedgerEntry.of(query.name, noise))

    def _count(self, asked: Call, how: str, noise: Noise, told: Any) -> None:
        """Keep the tallies on the tape."""
        query = asked.query
        assert isinstance(query, Histogram)
        exact = tuple(query.tally(self._sample, run) for run in range(self.runs))
        self._tell(asked, f"{query.identity}, {how}", exact, noise, told)

    def _draw(self, noise: Noise, query: Query, call: int) -> np.ndarray:
        return noise.law.shape(self._draws.standard(noise.law, query.name, call, query.size), noise.scale)

    def _tell(self, asked: Call, identity: str, exact: Any, noise: Noise | None, noisy: T) -> T:
        if self.tape is not None:
            self.tape.append(Answer(asked.query.name, identity, exact, noise, noisy, call=asked))
        return noisy


def until_identity(query: Query, max_tries: int | None) -> str:
    """What an answer that was drawn until it was accepted is called on a tape."""
    return f"{query.identity}, until accepted" + (f", {max_tries} tries" if max_tries is not None else "")


def unproven_identity(query: Query, claimed: Cost) -> str:
    """What an answer with unproven noise is called on a tape."""
    return f"{query.identity}, unproven, claimed {claimed}"
