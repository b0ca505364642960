"""Calls asked again: each private answer of one transcript, thousands of times in either world, all before it held fixed.

So an answer answers for its own price alone, also where what is asked depends on earlier answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpbench.accounting.costs import Nothing
from dpbench.audit.replays import AuditSubject, Transcript
from dpbench.audit.samples import BoundedRetryCurator, RepeatedSample
from dpbench.data.bins import BinCounts
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Answer, Call, Curator
from dpbench.privacy.histogram import Histogram
from dpbench.privacy.query import Query

Array = np.ndarray

BATCH = 5_000
"""Runs drawn at a time."""
CELLS = 30_000_000
"""Cells of scanned histograms that are drawn in a world at most; where there are more, there are fewer runs."""
FEWEST = 400
"""But never fewer than these."""
WATCHED = 40
"""Cells of a scanned histogram whose noise is looked at."""


@dataclass(frozen=True)
class RepeatedAnswers:
    """One answer of a transcript, drawn many times: the numbers that were returned in either world."""

    answer: Answer
    call: Call
    numbers: tuple[Array, Array]
    """(runs, numbers) in each world."""
    exact: tuple[Array, Array]
    """The same without noise, where noise was added to them."""
    noise_alone: bool
    """Whether a number is the exact one and noise of the declared law, unconditionally."""


def components(transcript: Transcript, subject: AuditSubject, rows: tuple[Rows, Rows], runs: int) -> Iterator[RepeatedAnswers]:
    """Each answer of a transcript of a single run that claims something, asked again."""
    for number, answers in enumerate(zip(transcript.first, transcript.second, strict=True)):
        call = answers[0].call
        if call is not None and not isinstance(call.cost, Nothing):
            curators = tuple(_Curators(subject, table, f"call {number}, world {at}") for at, table in enumerate(rows))
            yield _ASKED[call.method](call, answers, curators, runs)


@dataclass(frozen=True)
class _Curators:
    """Curators of one world, batch by batch."""

    subject: AuditSubject
    rows: Rows
    world: str

    def of(self, runs: int) -> Iterator[Curator]:
        for start in range(0, runs, BATCH):
            size = min(BATCH, runs - start)
            yield BoundedRetryCurator(
                RepeatedSample(self.rows, size), self.subject.draws(self.world, size, start), self.subject.budget
            )


Answers = tuple[Answer, Answer]
Worlds = tuple[_Curators, ...]


class _Known(Query):
    """A query whose exact answer is known."""

    def __init__(self, answer: Answer) -> None:
        self.name = answer.query
        self._exact = answer.exact[0]

    @property
    def size(self) -> int:
        return len(self._exact)

    def contribution(self, rows: Rows, run: int) -> Array:
        raise NotImplementedError("The sum is known.")

    def exact(self, sample: Sample) -> Array:
        return np.broadcast_to(self._exact, (sample.runs, self.size))


@dataclass(frozen=True)
class _KnownCells(Histogram):
    """A histogram whose counts are known."""

    counts: BinCounts | None = None

    def count(self, sample: Sample, run: int) -> BinCounts:
        assert self.counts is not None
        return self.counts


def _vectors(call: Call, answers: Answers, worlds: Worlds, runs: int) -> RepeatedAnswers:
    """A sum asked again: with noise, until accepted, or with unproven noise."""
    drawn = [
        np.concatenate([_vector(call, answer, curator) for curator in world.of(runs)])
        for answer, world in zip(answers, worlds, strict=True)
    ]
    exact = [_alone(call, answer) for answer in answers]
    return RepeatedAnswers(answers[0], call, (drawn[0], drawn[1]), (exact[0], exact[1]), call.method == "release")


def _alone(call: Call, answer: Answer) -> Array:
    """What was returned, less the noise; of a sampler, what the exact sum changes while it draws the same."""
    exact = answer.exact[0]
    if answer.noise is not None:
        return np.asarray(exact)
    sampler = call.arguments[0]
    drawn, blank = (np.ravel(sampler(sums, np.random.default_rng(0))) for sums in (exact, 0 * exact))
    return np.asarray(drawn - blank)


def _vector(call: Call, answer: Answer, curator: Curator) -> Array:
    query = _Known(answer)
    if answer.noise is None:
        return curator.unproven(query, *call.arguments).reshape(curator.runs, -1)
    if call.method == "until":
        accept, most = call.arguments
        return curator.until(query, answer.noise, lambda _, vector: bool(accept(0, vector)), most)[0]
    return curator.release(query, answer.noise)


def _scanned(call: Call, answers: Answers, worlds: Worlds, runs: int) -> RepeatedAnswers:
    """Every cell asked again; looked at are the cells that moved, and some that did not."""
    query, noise = call.query, answers[0].noise
    assert isinstance(query, Histogram)
    assert noise is not None
    runs = min(runs, max(CELLS // query.size, FEWEST))
    moved = _moved(query, answers).index[:, 0]
    watched = np.concatenate([moved, np.setdiff1d(np.arange(min(query.size, WATCHED)), moved)])
    drawn, exact = [], []
    for answer, world in zip(answers, worlds, strict=True):
        known = _KnownCells(query.binning, query.name, answer.exact[0])
        scans = ((curator.scan(known, noise, *call.arguments), curator.runs) for curator in world.of(runs))
        blocks = (scan.blocks(run) for scan, size in scans for run in range(size))
        drawn.append(np.stack([np.concatenate([counts for _, counts in block])[watched] for block in blocks]))
        exact.append(_at(answer.exact[0], watched[:, None]))
    return RepeatedAnswers(answers[0], call, (drawn[0], drawn[1]), (exact[0], exact[1]), True)


def _summarised(call: Call, answers: Answers, worlds: Worlds, runs: int) -> RepeatedAnswers:
    """A summary drawn again; looked at are the weights of the cells that moved, 0 where they are not in it."""
    query, noise = call.query, answers[0].noise
    assert isinstance(query, Histogram)
    assert noise is not None
    moved = _moved(query, answers)
    drawn = []
    for answer, world in zip(answers, worlds, strict=True):
        known = _KnownCells(query.binning, query.name, answer.exact[0])
        tallies = (tally for curator in world.of(runs) for tally in curator.sparse(known, noise, *call.arguments))
        drawn.append(np.stack([_at(tally, moved.index) for tally in tallies]))
    exact = _at(answers[0].exact[0], moved.index), _at(answers[1].exact[0], moved.index)
    return RepeatedAnswers(answers[0], call, (drawn[0], drawn[1]), exact, False)


def _moved(query: Histogram, answers: Answers) -> BinCounts:
    """The cells whose counts differ between the worlds."""
    change = answers[1].exact[0].minus(answers[0].exact[0], query.binning)
    return BinCounts(change.index[change.counts != 0], change.counts[change.counts != 0])


def _at(tally: BinCounts, cells: Array) -> Array:
    """The numbers of these cells, 0 where a tally has none."""
    same = (tally.index[None, :, :] == cells[:, None, :]).all(axis=2)
    return np.asarray(same @ tally.counts)


_ASKED: dict[str, Callable[[Call, Answers, Worlds, int], RepeatedAnswers]] = {
    "release": _vectors,
    "until": _vectors,
    "unproven": _vectors,
    "scan": _scanned,
    "sparse": _summarised,
}
