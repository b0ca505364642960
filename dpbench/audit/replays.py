"""The grey-box audit: on neighbours, and with the same noisy answers, a mechanism must ask the same and move by what it declared.

Replays run over many pairs at once, a pair a run, and over a few pairs one at a time, because a mechanism that looks at all runs
together can hide what it does for one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from dpbench.accounting.costs import Nothing
from dpbench.audit.neighbours import Pairs, blank, drawn, filling, joined, search, standing
from dpbench.audit.samples import BoundedRetryCurator, Tables
from dpbench.base.errors import Refused
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Answer, Curator, Draws
from dpbench.privacy.histogram import Histogram
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.replay import FLOW, ReplayCurator, Violation

RANDOM, ROUNDS, KEPT, FURTHEST = 400, 40, 60, 3
"""Of the local search: random pairs to begin with, rounds, pairs that go on to the next one, and those that are replayed."""
NUMBERS = 20_000_000
"""Contributions that a search may hold at a time, in numbers: where an answer has more coefficients, fewer pairs are tried."""
SINGLES = 5
"""Pairs that are also replayed alone."""


@dataclass(frozen=True)
class AuditSubject:
    """What is audited: a mechanism on a model with a budget, on tables of so many rows of a geometry."""

    mechanism: Mechanism
    model: Model
    budget: Budget
    geometry: Geometry
    rows: int = 8
    seed: int = 0
    pair: int = 0
    """Which pair of tables is looked at: each has streams of its own."""

    def fit(self, curator: Curator) -> Fit:
        return self.mechanism.fit(curator, self.model.prepare(curator), self.budget)

    def draws(self, world: str, runs: int, start: int = 0) -> Draws:
        """Streams of a world's runs, beginning with this one."""
        return Draws(self.seed, f"audit, pair {self.pair}, {world}", [(run, 0) for run in range(start, start + runs)])

    @property
    def filling(self) -> Rows:
        """The rows that neighbours share."""
        return filling(self.geometry, self.rows - 1)

    @property
    def fillings(self) -> tuple[Rows, ...]:
        """And those beside which the row that is replaced decides everything."""
        return self.filling, blank(self.geometry, self.rows - 1)


@dataclass(frozen=True)
class Transcript:
    """One fit on a sample, and its replay on the neighbours: the same calls, each with two exact answers."""

    first: tuple[Answer, ...]
    second: tuple[Answer, ...]
    ratios: tuple[float, ...]
    """How far each answer moved, in units of what was declared."""
    ledger: Ledger


@dataclass(frozen=True)
class Replayed:
    """What the replays found."""

    pairs: int
    calls: int
    """Private answers of one fit."""
    ratio: float
    """The largest move of an answer, in units of what was declared; 0 where no answer declares any."""
    origin: str
    """Where the pair came from that moved an answer furthest."""
    violation: str = ""

    @property
    def violated(self) -> bool:
        return bool(self.violation)


def grey_box(subject: AuditSubject) -> tuple[Replayed, Pairs]:
    """Replays at the worst pairs that were found, and these pairs, the worst first."""
    generator = np.random.default_rng(subject.seed)
    found = standing(subject.geometry, generator)
    calls, ratio = 0, 0.0
    try:
        asked = taped(subject)
        calls = len(asked.tape or [])
        worst = [_searched(subject.geometry, answer, found, generator) for answer in asked.tape or []]
        found = joined(*(pairs for pairs in worst if pairs is not None), found)
        alone = np.linspace(0, found.count - 1, SINGLES).astype(int)
        for others, at in product(subject.fillings, (np.arange(found.count), *alone[:, None])):
            ratio = max([ratio, *transcript(subject, *_tables(others, found.take(at))).ratios])
    except Violation as violation:
        return Replayed(found.count, calls, ratio, found.origin[0], str(violation)), found
    return Replayed(found.count, calls, ratio, found.origin[0]), found


def taped(subject: AuditSubject) -> Curator:
    """The curator of one fit on as many rows, with its tape."""
    curator = BoundedRetryCurator(
        WholeSample(filling(subject.geometry, subject.rows)), subject.draws("replay", 1), subject.budget
    )
    curator.tape = []
    subject.fit(curator)
    return curator


def transcript(subject: AuditSubject, first: Sample, second: Sample) -> Transcript:
    """A fit on one sample and its replay on the other; raises :class:`Violation`."""
    draws = subject.draws("replay", first.runs)
    curator = BoundedRetryCurator(first, draws, subject.budget)
    curator.tape = []
    fit = _fit(subject, curator)
    replay = ReplayCurator(second, draws, subject.budget, curator.tape)
    replay.tape = []
    again = _fit(subject, replay)
    replay.finish()
    same = np.array_equal(fit.weights, again.weights, equal_nan=True) and np.array_equal(fit.status, again.status)
    if not same or dict(fit.notes) != dict(again.notes):
        raise Violation("With the same answers the neighbour's weights are others: they depend on more than the answers.")
    if first.runs == 1:
        _check_ledger(curator)
    return Transcript(tuple(curator.tape), tuple(replay.tape), tuple(replay.ratios), curator.ledger)


def _fit(subject: AuditSubject, curator: Curator) -> Fit:
    """A fit; that of other rows has succeeded."""
    try:
        return subject.fit(curator)
    except (Violation, Refused):
        raise
    except Exception as error:
        raise Violation(f"On some tables the fit ends with {type(error).__name__}: {FLOW}") from error


def seen_by(rows: Rows, geometry: Geometry) -> Rows:
    """The rows' columns that a narrower geometry has."""
    if rows.geometry == geometry:
        return rows
    kept = [1 + rows.geometry.columns.index(name) for name in geometry.columns]
    return Rows(rows.z[:, [0, *kept, -1]], geometry)


def _tables(others: Rows, pairs: Pairs) -> tuple[Sample, Sample]:
    first, second = pairs.tables(others)
    return Tables(first), Tables(second)


def _check_ledger(curator: Curator) -> None:
    """What the calls cost, one by one, is what the ledger says."""
    asked = [(answer.query, answer.call.cost) for answer in curator.tape or [] if answer.call is not None]
    paid = [(entry.query, entry.cost) for entry in curator.ledger.entries]
    first, second = ([line for line in lines if not isinstance(line[1], Nothing)] for lines in (asked, paid))
    if first != second:
        raise Violation("The ledger is not that of the calls that were made.")


def _searched(geometry: Geometry, answer: Answer, start: Pairs, generator: np.random.Generator) -> Pairs | None:
    """The pairs that move one answer furthest; None where its noise declares nothing, or all pairs move it alike."""
    call, noise = answer.call, answer.noise
    if call is None or noise is None or isinstance(call.query, Histogram):
        return None
    query, scale, l1 = call.query, noise.scale[0], noise.law.norm == "L1"

    def move(first: Rows, second: Rows) -> np.ndarray:
        pair = (query.contribution(seen_by(rows, call.geometry), 0) for rows in (first, second))
        change = np.subtract(*pair) / scale
        return np.asarray((np.abs(change).sum(axis=1) if l1 else np.linalg.norm(change, axis=1)) / noise.bound)

    most = max(NUMBERS // query.size, 2)
    random = drawn(geometry, generator, min(RANDOM, most)), drawn(geometry, generator, min(RANDOM, most))
    begin = joined(start, Pairs(*random, ("random",) * random[0].n))
    return search(geometry, move, begin, generator, ROUNDS, min(KEPT, most)).take(np.arange(FURTHEST))
