"""The transcript of a fit: its calls and their noisy answers as plain data, and the same fit from the transcript alone.

A result that follows from the transcript in a process that has seen no row is post-processing of private answers, whatever the
code of the mechanism does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.geometry import Geometry
from dpbench.data.moments import Moments
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer, Call, Draw, Stream
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws, Noise
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.histogram import Scan
from dpbench.privacy.queries.query import Query
from dpbench.privacy.replay import ReplayCurator, Violation
from dpbench.registry.lookup import build

MAX_SCANNED_NUMBERS = 50_000_000
"""Noisy counts that a transcript may hold."""

Array = np.ndarray


@dataclass(frozen=True)
class Transcript:
    """What a mechanism was told: the public facts, and the noisy answer to each of its calls."""

    mechanism: Mapping[str, Any]
    """Its name and its options."""
    model: Mapping[str, Any]
    budget: Budget
    geometry: Geometry
    n: Array
    """The number of rows of each run."""
    answers: tuple[Answer, ...]
    """Without exact answers, and without functions."""

    def with_answers_of(self, run: int) -> "Transcript":
        """Return the transcript in which all runs got the answers of one."""
        runs = range(len(self.n))
        answers = (_for_all(answer, run, len(runs)) for answer in self.answers if answer.run is None)
        own = [answer for answer in self.answers if answer.run == run]
        alone = (replace(answer, run=other) for other in runs for answer in own)
        return replace(self, answers=(*answers, *alone))

    def with_another_run(self) -> "Transcript":
        """Return the transcript of one run with a second run, which has other answers."""
        both = (_with_other(answer) for answer in self.answers if answer.run is None)
        first = [answer for answer in self.answers if answer.run is not None]
        return replace(self, n=np.repeat(self.n, 2), answers=(*both, *first, *(replace(answer, run=1) for answer in first)))


def transcript_of(
    mechanism: Mapping[str, Any], model: Mapping[str, Any], budget: Budget, sample: Sample, tape: Sequence[Answer]
) -> Transcript:
    """Return the transcript of a fit from its tape."""
    return Transcript(
        mechanism, model, budget, sample.geometry, np.array(sample.n), tuple(_plain(answer, sample.runs) for answer in tape)
    )


def fit_again(transcript: Transcript, changed: bool) -> Fit:
    """Return the fit that the mechanism makes of a transcript, without any row.

    In a ``changed`` transcript, whose answers belong to other calls, only the names of the calls must agree.
    """
    curator = _TranscriptCurator(_NoRows(transcript.geometry, transcript.n), transcript, changed)
    problem = build("model", transcript.model).prepare(closed(curator))
    fit = fit_closed(build("mechanism", transcript.mechanism), problem, curator, transcript.budget)
    curator.finish()
    return fit


class _TranscriptCurator(ReplayCurator):
    """A curator without rows: it answers from a transcript."""

    def __init__(self, sample: Sample, transcript: Transcript, changed: bool) -> None:
        super().__init__(sample, Draws(0, "", [(0, 0)] * sample.runs), transcript.budget, transcript.answers)
        self._changed = changed

    def reveal(self, what: str, compute: Callable[[Sample], Any], reason: str) -> Any:
        raise Violation("A transcript has no exact answers.")

    def leak(self, what: str, why: str, compute: Callable[[Sample], Any]) -> Any:
        raise Violation("A transcript has no exact answers.")

    def _answer_sum(self, call: Call, noise: Noise | None, entry: Any, draw: Draw) -> Array:
        return np.asarray(self._read(call, noise).noisy)

    def _answer_histogram(self, call: Call, noise: Noise, draw: Callable[..., Any]) -> Any:
        return self._read(call, self._checked_histogram(call.query, noise)).noisy

    def _answer_procedure(self, procedure: Procedure, stream: Stream) -> Array:
        """Return the next answer of this run, or of all, which must be one to this procedure."""
        recorded = self._take_changed(procedure.name) if self._changed else self._take(procedure.name)
        if not self._changed and recorded.call.arguments.get("identity") != procedure.identity:
            raise Violation(f"The query {procedure.name!r} is not in the transcript.")
        return np.asarray(recorded.noisy)

    def _read(self, call: Call, noise: Noise | None) -> Answer:
        """Return the next answer of this run, or of all, which must be one to this call."""
        if not self._changed:
            return self._next(call, noise, None)
        return self._take_changed(call.name)

    def _take_changed(self, name: str) -> Answer:
        """Take the next answer of this run to a call of this name, whatever else is between."""
        for at, answer in enumerate(self._unread):
            if answer.run == self._run and answer.query == name:
                return self._unread.pop(at)
        raise Violation(f"The query {name!r} is not in the transcript.")


class _NoRows(Sample):
    """The public facts of a sample."""

    def __init__(self, geometry: Geometry, n: Array) -> None:
        self.geometry = geometry
        self.runs = len(n)
        self._n = n

    @property
    def n(self) -> Array:
        return self._n

    @property
    def moments(self) -> Moments:
        raise Violation("There are no rows here.")

    def rows(self, run: int) -> Rows:
        raise Violation("There are no rows here.")


class _NamedQuery(Query):
    """What a transcript says of a query."""

    def __init__(self, name: str, identity: str, size: int) -> None:
        self.name = name
        self._identity = identity
        self._size = size

    @property
    def size(self) -> int:
        return self._size

    @property
    def identity(self) -> str:
        return self._identity


@dataclass(frozen=True)
class _StoredBlocks:
    """The noisy counts of a scan, run by run."""

    runs: tuple[tuple[tuple[int, Array], ...], ...]

    def __call__(self, run: int) -> Iterator[tuple[int, Array]]:
        return iter(self.runs[run])


def _plain(answer: Answer, runs: int) -> Answer:
    """Return an answer without the exact one, without functions and with the counts of a scan."""
    call, noisy = answer.call, answer.noisy
    arguments = {name: value for name, value in call.arguments.items() if not callable(value)}
    query = _NamedQuery(call.name, call.query.identity, call.query.size)
    if isinstance(noisy, Scan):
        runs = 1 if answer.run is not None else runs
        if runs * call.query.size > MAX_SCANNED_NUMBERS:
            raise Violation(f"The scan of {query.name!r} is too long to be checked: take fewer bins or fewer runs.")
        noisy = Scan(_StoredBlocks(tuple(tuple(noisy.blocks(run)) for run in range(runs))))
    noise = answer.noise if isinstance(answer.noise, Noise) else None
    return Answer(Call(call.method, query, call.geometry, call.cost, arguments), None, noise, noisy, answer.run)


def _for_all(answer: Answer, run: int, runs: int) -> Answer:
    """Return an answer to all runs in which each got that of one."""
    noisy = answer.noisy
    if isinstance(noisy, Scan):
        return replace(answer, noisy=Scan(_StoredBlocks((tuple(noisy.blocks(run)),) * runs)))
    return replace(
        answer, noisy=noisy[run : run + 1] * runs if isinstance(noisy, tuple) else np.repeat(noisy[run : run + 1], runs, 0)
    )


def _with_other(answer: Answer) -> Answer:
    """Return an answer to one run with another one to a second run."""
    noisy = answer.noisy
    if not isinstance(noisy, np.ndarray):
        return _for_all(answer, 0, 2)
    return replace(answer, noisy=np.concatenate([noisy, noisy / 2 + 1]))
