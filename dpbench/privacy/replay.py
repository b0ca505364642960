"""Replay: the answers recorded on one table are fed back on a neighbouring one.

Post-processing then sees identical answers, so every call must be the same one, and the exact answers may differ by no
more than the declared bound. This finds wrong sensitivities and data-dependent control flow without any statistics
(re:cord-play: Cebere, Erb, Desfontaines, Bellet, Fitzsimons 2026).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpbench.accounting.costs import LedgerEntry
from dpbench.data.samples import Sample
from dpbench.privacy.calls import Accept, Answer, Call, Draw, Stream
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Noise
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.query import Query

ROUNDING = 1e-9
"""Relative slack for the rounding of exact answers and bounds."""

FLOW = "control flow depends on the rows."
"""The end of the sentence about a call that differs between neighbours."""


class Violation(Exception):
    """A guarantee that did not hold on a pair of neighbours."""


class Stopped(BaseException):  # no Exception, so that a mechanism does not catch it by the way
    """The end of a fit that is replayed up to a number of calls only."""


class ReplayCurator(Curator):
    """A curator of the neighbouring table that answers from a tape, and checks every call against it."""

    def __init__(self, sample: Sample, draws: Draws, budget: Budget, tape: Sequence[Answer], stopped: bool = False) -> None:
        super().__init__(sample, draws, budget)
        self._unread = list(tape)
        self._stopped = stopped
        """Whether the recorded fit was stopped after the last answer of the tape."""
        self.ratios: list[float] = []
        """‖exact' - exact‖ / (scale · bound), the largest over the runs, call by call (histograms: run by run): at most 1."""

    def finish(self) -> None:
        """Check that every recorded call was made again."""
        if self._unread:
            raise Violation(f"On the neighbour the query {self._unread[0].query!r} was not asked: {FLOW}")

    def until(self, query: Query, noise: Noise, accept: Accept, max_tries: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        noisy, _ = super().until(query, noise, accept, max_tries)
        return noisy, np.array([accept(run, answer) for run, answer in enumerate(noisy)])

    def _answer_sum(self, call: Call, noise: Noise | None, entry: LedgerEntry, draw: Draw) -> np.ndarray:
        """Return the recorded answer. Noise without a proof declares no bound, so there is none to check."""
        exact = self._exact(call.query)
        recorded = self._next(call, noise, exact)
        if noise is not None:
            self._check_bound(call, noise, noise.moved(exact, recorded.exact))
        return np.asarray(recorded.noisy)

    def _answer_procedure(self, procedure: Procedure, stream: Stream) -> np.ndarray:
        """Return the recorded answer: both tables must give it with chances as close as its price says."""
        recorded = self._take(procedure.name)
        if recorded.call.method != "ask":
            raise Violation(f"The query {recorded.query!r} became {procedure.name!r}: {FLOW}")
        noisy = np.asarray(recorded.noisy)
        call = Call.asking(procedure, noisy, self.geometry)
        exact = self._exact(call.query)
        self._compare(recorded, call, procedure, exact)
        self._check_bound(call, procedure, procedure.given(noisy).moved(exact, recorded.exact))
        return noisy

    def _answer_histogram(self, call: Call, noise: Noise, draw: Callable[..., Any]) -> Any:
        """Return the recorded answer. A replay cannot see whether it has the law of noisy counts: tests check that."""
        exact = self._counts(call.query)
        recorded = self._next(call, noise, exact)
        assert isinstance(call.query, Histogram)
        for run, counts in enumerate(recorded.exact):
            change = exact[run].minus(counts, call.query.binning)
            self._check_bound(call, noise, noise.moved(change.counts, np.zeros(1), run))
        return recorded.noisy

    def _next(self, call: Call, noise: Noise | None, exact: Any) -> Answer:
        """Return the next recorded answer, which must be the one to this call with this noise."""
        recorded = self._take(call.name)
        self._compare(recorded, call, noise, exact)
        return recorded

    def _take(self, name: str) -> Answer:
        """Take the next recorded answer of this run from the tape, for a call of this name."""
        if self._stopped and not self._unread:
            raise Stopped
        # runs may ask in another order than before, but each run in its own
        at = next((at for at, answer in enumerate(self._unread) if self._run is None or answer.run in (None, self._run)), None)
        recorded = None if at is None else self._unread.pop(at)
        if recorded is None or recorded.run != self._run:
            raise Violation(f"On the neighbour the query {name!r} is asked once more: {FLOW}")
        return recorded

    def _compare(self, recorded: Answer, call: Call, noise: Noise | Procedure | None, exact: Any) -> None:
        """Check that a recorded answer is the one to this call, and write it on the own tape with the exact one of this table."""
        if (recorded.query, recorded.call.identity) != (call.name, call.identity):
            raise Violation(f"The query {recorded.query!r} became {call.name!r}, or another one of that name: {FLOW}")
        if _content(recorded.noise) != _content(noise):
            raise Violation(f"The noise of {call.name!r} changed: {FLOW}")
        if not _is_finite(recorded.noisy):
            raise Violation(f"The answer to the query {call.name!r} is not a number.")
        if self.tape is not None:
            self.tape.append(replace(recorded, exact=exact))

    def _check_bound(self, call: Call, noise: Noise | Procedure, moved: np.ndarray) -> None:
        """Check that no run's answer moved by more than the declared bound."""
        ratio = float(np.max(moved))
        self.ratios.append(ratio)
        if not ratio <= 1 + ROUNDING:  # also if it is not a number
            raise Violation(f"The query {call.name!r} moved by {ratio:.6g} times its declared {noise.measure}.")


def _is_finite(noisy: Any) -> bool:
    """Return whether an answer consists of finite numbers; the counts of a scan are drawn when they are read."""
    if isinstance(noisy, tuple):
        return all(np.isfinite(bins.counts).all() for bins in noisy)
    return not isinstance(noisy, np.ndarray) or bool(np.isfinite(noisy).all())


def _content(noise: Noise | Procedure | None) -> Any:
    """Return what two equal noises have in common; dataclass equality cannot compare arrays of scales."""
    return (noise.law.name, noise.bound, noise.cost, noise.scale.tolist()) if isinstance(noise, Noise) else None
