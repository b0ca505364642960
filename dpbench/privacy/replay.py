"""Replay: the answers recorded on one table are fed back on a neighbouring one.

Post-processing then sees identical answers, so every call must be the same one, and the exact answers may differ by no
more than the declared bound. This finds wrong sensitivities and data-dependent control flow without any statistics
(re:cord-play: Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpbench.accounting.costs import Cost
from dpbench.data.bins import BinCounts
from dpbench.data.samples import Sample
from dpbench.privacy.curator import Answer, Curator, Draws, unproven_identity, until_identity
from dpbench.privacy.histogram import Histogram, Scan
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise
from dpbench.privacy.query import Query

ROUNDING = 1e-9
"""Relative slack for the rounding of exact answers and bounds."""

FLOW = "control flow depends on the rows."
"""What a call that is not the same one says of a mechanism."""


class Violation(Exception):
    """A guarantee that did not hold on a pair of neighbours."""


class ReplayCurator(Curator):
    """A curator of the neighbouring table that answers from a tape, and checks every call against it."""

    def __init__(self, sample: Sample, draws: Draws, budget: Budget, tape: Sequence[Answer]) -> None:
        super().__init__(sample, draws, budget)
        self._left = list(tape)
        self.ratios: list[float] = []
        """‖exact' - exact‖ / (scale · bound), the largest over the runs, call by call (histograms: run by run): at most 1."""

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        self._fits(query, noise)
        return self._recorded(query, query.identity, noise)

    def until(
        self, query: Query, noise: Noise, accept: Callable[[int, np.ndarray], bool], max_tries: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        self._fits(query, noise)
        noisy = self._recorded(query, until_identity(query, max_tries), noise)
        return noisy, np.array([accept(run, answer) for run, answer in enumerate(noisy)])

    def scan(self, query: Histogram, noise: Noise, step: int) -> Scan:
        told = self._counted(query, f"in steps of {step}", noise)
        assert isinstance(told.noisy, Scan)
        return told.noisy

    def sparse(self, query: Histogram, noise: Noise, threshold: int, size: int) -> Iterator[BinCounts]:
        return iter(self._counted(query, f"at least {threshold}, {size} of them", noise).noisy)

    def unproven(
        self, query: Query, sampler: Callable[[np.ndarray, np.random.Generator], np.ndarray], claimed: Cost, reason: str
    ) -> np.ndarray:
        """The recorded answer: that the exact one may move as it does is not declared, so it is not checked."""
        return np.asarray(self._told(query, unproven_identity(query, claimed), None, query.exact(self._sample)).noisy)

    def one(self, run: int) -> ReplayCurator:
        """A replay of a single run, from its own part of the tape."""
        own = [answer for answer in self._left if answer.run == run]
        single = ReplayCurator(self._sample.one(run), self._draws.one(run), self.ledger.budget, own)
        single.tape = None if self.tape is None else []
        return single

    def without(self, attributes: Sequence[str]) -> ReplayCurator:
        """A replay of the same rows without these attributes, from the same tape."""
        narrow = ReplayCurator(self._sample.without(attributes), self._draws, self.ledger.budget, ())
        narrow._left, narrow.ratios, narrow.tape = self._left, self.ratios, self.tape
        return narrow

    def adopt(self, singles: Sequence[Curator]) -> None:
        """Every single run's replay is over: what it left unasked is left unasked here."""
        replays = [single for single in singles if isinstance(single, ReplayCurator)]
        self.ratios += [ratio for replay in replays for ratio in replay.ratios]
        asked = {id(answer) for answer in self._left if answer.run is not None}
        unasked = {id(answer) for replay in replays for answer in replay._left}
        self._left[:] = [answer for answer in self._left if id(answer) not in asked - unasked]
        if self.tape is not None:
            self.tape += [answer for replay in replays for answer in replay.tape or []]

    def finish(self) -> None:
        """Every recorded call must have been made again."""
        if self._left:
            raise Violation(f"On the neighbour the query {self._left[0].query!r} was not asked: {FLOW}")

    def _recorded(self, query: Query, identity: str, noise: Noise) -> np.ndarray:
        exact = query.exact(self._sample)
        told = self._told(query, identity, noise, exact)
        self._within(query, noise, (exact - told.exact) / noise.scale)
        return np.asarray(told.noisy)

    def _counted(self, query: Histogram, how: str, noise: Noise) -> Answer:
        """The answer to a histogram whose counts moved by no more than the bound.

        That the answer has the law of noisy counts is not for a replay to see: tests do.
        """
        self._fits(query, noise)
        exact = tuple(query.tally(self._sample, run) for run in range(self.runs))
        told = self._told(query, f"{query.identity}, {how}", noise, exact)
        for run, tally in enumerate(told.exact):
            change = exact[run].minus(tally, query.grid)
            self._within(query, noise, change.counts / noise.scale[run if len(noise.scale) > 1 else 0])
        return told

    def _told(self, query: Query, identity: str, noise: Noise | None, exact: Any) -> Answer:
        """The recorded answer, which must be the one to this query with this noise; the exact one goes on a tape of its own."""
        if not self._left:
            raise Violation(f"On the neighbour the query {query.name!r} is asked once more: {FLOW}")
        told = self._left.pop(0)
        if (told.query, told.identity) != (query.name, identity):
            raise Violation(f"The query {told.query!r} became {query.name!r}, or another one of that name: {FLOW}")
        if not _same(told.noise, noise):
            raise Violation(f"The noise of {query.name!r} changed: {FLOW}")
        if self.tape is not None:
            self.tape.append(replace(told, exact=exact))
        return told

    def _within(self, query: Query, noise: Noise, change: np.ndarray) -> None:
        """The change of one answer, or of one a run, in scales: it must keep the declared bound."""
        moved = np.abs(change).sum(axis=-1) if noise.law.norm == "L1" else np.sqrt(np.square(change).sum(axis=-1))
        ratio = float((moved / noise.bound).max())
        self.ratios.append(ratio)
        if ratio > 1 + ROUNDING:
            raise Violation(f"The query {query.name!r} moved by {ratio:.6g} times its declared {noise.law.norm} sensitivity.")


def _same(one: Noise | None, other: Noise | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.law.name, one.bound, one.cost) == (other.law.name, other.bound, other.cost) and np.array_equal(
        one.scale, other.scale
    )
