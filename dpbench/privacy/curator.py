"""The Curator holds the private rows and answers queries about them with noise. It draws the noise and keeps the ledger.

A mechanism never sees a row. Each private answer is one call, and the call itself writes its cost, so that the accounted ε
cannot differ from the noise that was drawn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Self, TypeVar

import numpy as np

from dpbench.accounting.costs import Cost, LedgerEntry, Nothing, Pure
from dpbench.base.core_classes import is_core_class
from dpbench.base.read_only import read_only
from dpbench.data.bins import BinCounts, spell_count
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.privacy.call_numbers import CallNumbers
from dpbench.privacy.calls import Accept, Answer, Array, Call, Draw, Sampler, Stream
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.noise import Draws, Geometric, Noise, plain_noise
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.histogram import Histogram, Scan, count_rows, plain_histogram
from dpbench.privacy.queries.query import Passes, Query, exact_answer, stream_name
from dpbench.privacy.queries.sparse_histogram import MAX_EXPECTED_SURVIVORS, draw_summary, expected_survivors
from dpbench.records.leaks import Leak

T = TypeVar("T")
KIND = "\x1e"
"""Begins the name under which a kind of procedure is counted: no query's name contains it."""


class Curator:
    """Answers queries about a block of runs with noise, within a budget.

    Use :meth:`release` for "noise on a sum", :meth:`until` to draw again until the answer is accepted, and :meth:`scan` and
    :meth:`sparse` for histograms whose bins do not fit into memory for all runs at once. What is not proven private goes
    through :meth:`unproven`, what is not private at all through :meth:`reveal` and :meth:`leak`; the ledger shows it.
    """

    def __init__(
        self, sample: Sample, draws: Draws, budget: Budget, leaks: Sequence[Leak] = (), paid: Sequence[LedgerEntry] = ()
    ) -> None:
        self._sample = sample
        self._draws = draws
        self._run: int | None = None
        """The run, in a curator of a single run."""
        self._numbers = CallNumbers(entry.query for entry in paid)
        self._paid = len(paid)
        self._passes = Passes()
        self.tape: list[Answer] | None = None
        self.ledger = Ledger(replace(budget), paid, leaks, sample.geometry.neighbours)  # a copy: a mechanism has the original

    @property
    def geometry(self) -> Geometry:
        """The public facts about the design."""
        return self._sample.geometry

    @property
    def n(self) -> Array:
        """The number of training rows of each run: public, since neighbours have the same size."""
        return self._sample.n

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self._sample.runs

    # -- private answers -----------------------------------------------------------------------------------------------

    def release(self, query: Query, noise: Noise) -> Array:
        """Return the query's sum for each run, with noise: (runs, coefficients)."""
        noise = self._checked(query, noise)

        def draw(exact: Array, stream: Stream) -> Array:
            standard = self._draws.standard(noise.law, *stream, exact.shape[1])
            return np.asarray(exact + noise.law.shape(standard, noise.scale))

        call = Call("release", query, self.geometry, noise.cost)
        return self._answer_sum(call, noise, noise.ledger_entry(query.name), draw)

    def until(self, query: Query, noise: Noise, accept: Accept, max_tries: int | None = None) -> tuple[Array, Array]:
        """Draw again until ``accept(run, answer)`` is true. Costs twice the noise's ε.

        Zhang et al. 2012, Lemma 5: both the density of an accepted answer and the chance of acceptance change by at most e^ε.
        With ``max_tries`` the last answer is returned even if it is not accepted. It has no such bound, so the entry carries
        no guarantee. Returns the answers and whether each was accepted.
        """
        noise = self._checked(query, noise)
        if not isinstance(noise.cost, Pure):
            raise ValueError("Drawing until accepted is proven for pure ε only.")
        cost: Cost = Pure(2 * noise.cost.epsilon) if max_tries is None else Nothing()
        entry = replace(noise.ledger_entry(query.name), cost=cost)
        if max_tries is not None:
            entry = replace(entry, sound=False, proof=f"none: the loop is capped at {max_tries} tries")
        elif entry.sound:
            entry = replace(entry, proof="Zhang et al. 2012, Lemma 5")
        accepted = np.zeros(self.runs, dtype=bool)

        def draw(exact: Array, stream: Stream) -> Array:
            answers = []
            for run, total in enumerate(exact):
                generator = self._draws.generator(run, *stream)
                tries, answer = 0, np.empty(exact.shape[1])
                while not accepted[run] and (max_tries is None or tries < max_tries):
                    standard = noise.law.standard(generator, len(total))
                    answer = read_only(np.asarray(total + noise.law.shape(standard, noise.scale_of(run))))
                    accepted[run] = accept(run, answer)
                    tries += 1
                answers.append(answer)
            return np.stack(answers)

        call = Call("until", query, self.geometry, cost, {"accept": accept, "max_tries": max_tries})
        return self._answer_sum(call, noise, entry, draw), accepted

    def scan(self, query: Histogram, noise: Noise, step: int) -> Scan:
        """Return the noisy count of every bin, drawn on demand in blocks of ``step`` bins and the same at every pass."""
        query = plain_histogram(query)
        if len(query.binning.index_axes) > 1:
            raise ValueError(f"A histogram of {spell_count(query.size)} bins cannot be scanned.")
        if noise.law.joint:
            raise ValueError(f"The bins of a scan are drawn block by block, and {noise.law.name} noise all at once.")

        def draw(noise: Noise, stream: Stream) -> Scan:
            def blocks(run: int) -> Iterator[tuple[int, Array]]:
                law, scale = noise.law, noise.scale_of(run)
                exact = self._count(query, run)
                filled = exact.index[:, 0]
                for number, start in enumerate(range(0, query.size, step)):
                    size = min(step, query.size - start)
                    generator = self._draws.generator_of_bins(run, *stream, number)
                    counts = law.shape(law.standard_of_bins(generator, size), scale)
                    low, high = np.searchsorted(filled, [start, start + size])
                    counts[filled[low:high] - start] += exact.counts[low:high]
                    yield start, read_only(counts)

            return Scan(blocks)

        return self._answer_histogram(Call("scan", query, self.geometry, noise.cost, {"step": step}), noise, draw)

    def sparse(self, query: Histogram, noise: Noise, threshold: int, size: int) -> Iterator[BinCounts]:
        """Return at most ``size`` bins per run, sampled by priority among those whose noisy count reaches the threshold.

        The law is exactly that of noise on every bin, but empty bins are not visited: see
        :mod:`dpbench.privacy.queries.sparse_histogram`. The runs are drawn one after the other, so that only one of them is in
        memory.
        """
        query = plain_histogram(query)
        if type(noise.law) is not Geometric:
            raise ValueError("Empty bins can be skipped for geometric noise only.")
        if threshold < 1 or size < 1:
            raise ValueError(f"The threshold and the size must be at least 1. Got {threshold} and {size} instead.")
        expected = expected_survivors(query.size, threshold, float(noise.scale.max()))
        if expected > MAX_EXPECTED_SURVIVORS:
            raise ValueError(
                f"A threshold must let at most {MAX_EXPECTED_SURVIVORS:,} empty bins through. Got {expected:.3g} instead."
            )

        def summaries(noise: Noise, stream: Stream) -> Iterator[BinCounts]:
            for run in range(self.runs):
                scale, generator = float(noise.scale_of(run)[0]), self._draws.generator_of_bins(run, *stream)
                yield draw_summary(self._count(query, run), query.binning, scale, threshold, size, generator)

        def draw(noise: Noise, stream: Stream) -> Iterable[BinCounts]:
            return summaries(noise, stream) if self.tape is None else tuple(summaries(noise, stream))

        call = Call("sparse", query, self.geometry, noise.cost, {"threshold": threshold, "size": size})
        return iter(self._answer_histogram(call, noise, draw))

    def ask(self, procedure: Procedure) -> Array:
        """Return the answer of one of dpbench's own procedures for each run: what is private but not noise on a sum."""
        if not is_core_class(type(procedure)):
            raise TypeError(f"A procedure sees rows, so it must be one of dpbench's own. Got {type(procedure).__name__} instead.")
        self._pay(procedure.ledger_entry())
        kind = type(
            procedure
        ).__name__  # names the streams, so that two procedures of a kind share none, whatever they are called
        number = self._paid + self._numbers.next(f"{KIND}{kind}", self._run)
        return self._answer_procedure(procedure, (kind, number))

    def unproven(self, query: Query, sampler: Sampler, claimed: Cost, reason: str) -> Array:
        """Return ``sampler(exact answer, generator)`` of each run: published noise without a proof of privacy, never sound."""

        def draw(exact: Array, stream: Stream) -> Array:
            return np.stack([sampler(total, self._draws.generator(run, *stream)) for run, total in enumerate(exact)])

        entry = LedgerEntry(query.name, claimed, sound=False, proof=f"unproven: {reason}")
        arguments = {"sampler": sampler, "claimed": claimed, "reason": reason}
        call = Call("unproven", query, self.geometry, claimed, arguments)
        return self._answer_sum(call, None, entry, draw)

    # -- what is not private -------------------------------------------------------------------------------------------

    def reveal(self, what: str, compute: Callable[[Sample], T], reason: str) -> T:
        """Return something that is not private at all: the non-private fit, or a choice made on the exact data."""
        self._pay(LedgerEntry(what, Nothing(), sound=False, proof=f"not private: {reason}"))
        return compute(self._sample)

    def leak(self, what: str, why: str, compute: Callable[[Sample], T]) -> T:
        """Return something chosen on the exact data that ε does not count, as papers do: every record names the leak."""
        self.ledger.leak(Leak(what, why))
        return compute(self._sample)

    # -- curators of fewer columns or of one run -----------------------------------------------------------------------

    def without(self, attributes: Sequence[str]) -> Self:
        """Return a curator of the same rows without these attributes. It shares the ledger, the streams and the tape."""
        narrow = copy(self)
        narrow._sample = self._sample.without(attributes)
        return narrow

    def for_run(self, run: int) -> Self:
        """Return a curator of a single run. It shares the ledger, the streams and the tape, and the numbering of the calls."""
        single = copy(self)
        single._run = run if self._run is None else self._run
        single._sample = self._sample.for_run(run)
        single._draws = self._draws.for_run(run)
        return single

    # -- how a call is answered: curators of an audit override some of it ----------------------------------------------

    def _answer_sum(self, call: Call, noise: Noise | None, entry: LedgerEntry, draw: Draw) -> Array:
        """Pay for a sum, compute it, and pass it with the stream of the call to ``draw``."""
        stream = stream_name(call.query), self._pay(entry)
        exact = self._exact(call.query)
        noisy = read_only(draw(exact, stream))
        if self.tape is not None:
            self.tape.append(Answer(call, exact, noise, noisy, self._run, stream))
        return noisy

    def _answer_procedure(self, procedure: Procedure, stream: Stream) -> Array:
        generators = [self._draws.generator(run, *stream) for run in range(self.runs)]
        noisy = read_only(procedure.answer(self._sample, self._exact, generators))
        if self.tape is not None:
            call = Call.asking(procedure, noisy, self.geometry)
            self.tape.append(Answer(call, self._exact(call.query), procedure.given(noisy), noisy, self._run))
        return noisy

    def _answer_histogram(self, call: Call, noise: Noise, draw: Callable[[Noise, Stream], T]) -> T:
        """Pay for the counts of a histogram, which ``draw`` reads run by run; only a tape holds those of all runs."""
        noise = self._checked_histogram(call.query, noise)
        noisy = draw(noise, (stream_name(call.query), self._pay(noise.ledger_entry(call.query.name))))
        if self.tape is not None:
            self.tape.append(Answer(call, self._counts(call.query), noise, noisy, self._run))
        return noisy

    def _exact(self, query: Query) -> Array:
        """Return the exact sums: (runs, size)."""
        return exact_answer(query, self._sample, self._passes)

    def _count(self, query: Histogram, run: int) -> BinCounts:
        """Return the exact counts of one run's bins."""
        return count_rows(query, self._sample, run)

    def _counts(self, query: Query) -> tuple[BinCounts, ...]:
        assert isinstance(query, Histogram)
        return tuple(self._count(query, run) for run in range(self.runs))

    def _pay(self, entry: LedgerEntry) -> int:
        """Write the entry, which is refused if it overspends, and return the number of the call among those of its name."""
        self.ledger.spend(entry, self._run)
        return self._numbers.next(entry.query, self._run)

    def _checked(self, query: Query, noise: Noise) -> Noise:
        """Return the noise made anew, and refuse scales that do not fit the query."""
        noise = plain_noise(noise)
        rows, width = noise.scale.shape
        if rows not in (1, self.runs) or width not in ((query.size,) if noise.law.joint else (1, query.size)):
            raise ValueError(
                f"The noise on {query.name!r} must have scales of shape (1 or {self.runs}, 1 or {query.size}). "
                f"Got {noise.scale.shape} instead."
            )
        return noise

    def _checked_histogram(self, query: Query, noise: Noise) -> Noise:
        noise = self._checked(query, noise)
        if noise.scale.shape[1] != 1:
            raise ValueError(f"The noise on {query.name!r} must have one scale for all bins.")
        return noise
