"""The replay level: on neighbours, and with the same noisy answers, a mechanism must make the same calls and keep its bounds.

This checks every declared sensitivity. Many pairs are replayed together, one pair per run, and a few pairs alone, because a
mechanism that looks at all runs together could hide what it does for one of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpbench.accounting.costs import Nothing
from dpbench.audit.deterministic_checks import check_fits, check_noise, check_sums
from dpbench.audit.neighbours import PERSON_CHANGES, Change, Pairs, fixed_and_random_pairs, join, worst_pairs
from dpbench.audit.same_state import same_state
from dpbench.audit.subject import Answers, AuditSubject
from dpbench.audit.tables import common_tables, worst_tables
from dpbench.contracts.fit import Fit
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer
from dpbench.privacy.curator import Curator
from dpbench.privacy.replay import ReplayCurator, Stopped, Violation

SINGLE_REPLAYS = 5
"""Pairs that are also replayed alone."""
COSTLY_PAIRS = 4
"""Pairs that are replayed with a model whose minimum has no closed form: a single run may cost tens of cone programs.

The search for the worst pairs has tried all of them on every answer by then.
"""
SEARCHED_ANSWERS = 3
"""Answers to queries of one name for which whole tables are searched: the first, the last and one between.

Each table is replayed through all calls, so the time grows with the square of the steps of an iterative mechanism.
"""
MAX_CALLS_AT_SIZE = 20
"""Calls that are replayed on the tables of a size class."""
MAX_NUMBERS = 2_000_000
"""Numbers in a table of a size class: wider tables have fewer rows."""


@dataclass(frozen=True)
class Replays:
    """The outcome of all replays of an audit."""

    pairs: int
    calls: int
    """Private answers of one fit."""
    ratio: float
    """The largest move of an answer, in units of the declared bound; 0 where no answer declares one."""
    origin: str
    """Where the worst pair comes from."""
    violation: str = ""
    n: int = 0
    """The largest number of rows on which a fit was replayed."""


def audit_replays(subject: AuditSubject, tape: Sequence[Answer]) -> tuple[Replays, Pairs]:
    """Replay fits on the worst pairs for the answers of a tape; return the outcome and the pairs, the worst first."""
    geometry, generator = subject.geometry, np.random.default_rng(subject.settings.seed)
    start = fixed_and_random_pairs(geometry, generator)
    worst = [worst_pairs(geometry, answer, start, generator) for answer in tape]
    pairs = join(*(part for part in worst if part is not None), start)
    replayed, singles = (COSTLY_PAIRS, 1) if subject.costly else (pairs.first.n, SINGLE_REPLAYS)
    together, alone = (np.linspace(0, pairs.first.n - 1, count).astype(int) for count in (replayed, singles))
    rows, n, ratio, violation = subject.settings.rows, subject.settings.rows, 0.0, ""
    kinds = common_tables(geometry, rows - 1)
    try:
        for common, index, change in _replayed(kinds, together, alone):
            first, second = pairs.take(index).tables(common, change)
            ratio = max([ratio, *replay(subject, WholeSample(*first), WholeSample(*second))[1]])
        for answer in _samples(tape):
            for one, other in worst_tables(geometry, answer, pairs, rows, generator):
                ratio = max([ratio, *replay(subject, WholeSample(one), WholeSample(other))[1]])
        check_fits(subject)
        check_noise(subject)
        check_sums(subject, tape)
        size = min(subject.size_class, MAX_NUMBERS // (geometry.features + 2))
        if size > rows:
            ratio, n = max([ratio, *_replay_at(size, subject, pairs)]), size
    except Violation as error:
        violation = str(error)
    return Replays(pairs.first.n, len(tape), ratio, pairs.origin[0], violation, n), pairs


def _samples(tape: Sequence[Answer]) -> list[Answer]:
    """Return up to SEARCHED_ANSWERS answers to the queries of each name and class, at even steps, in their order."""
    groups: dict[tuple[type, str], list[int]] = {}
    for number, answer in enumerate(tape):
        groups.setdefault((type(answer.call.query), answer.call.query.name), []).append(number)
    steps = (np.linspace(0, len(numbers) - 1, min(len(numbers), SEARCHED_ANSWERS)).astype(int) for numbers in groups.values())
    chosen = {numbers[step] for numbers, at in zip(groups.values(), steps, strict=True) for step in at}
    return [tape[number] for number in sorted(chosen)]


def _replayed(kinds: Sequence[Rows], together: np.ndarray, alone: np.ndarray) -> Iterator[tuple[Rows, np.ndarray, Change]]:
    """Yield the common rows, the pairs and the changes of a person's rows that are replayed at the same time."""
    for common in kinds[:2]:
        yield from ((common, index, "all rows") for index in (together, *alone[:, None]))
    for common in kinds[2:]:
        yield common, together, "all rows"
    if kinds[0].geometry.rows_per_person is not None:
        yield from ((kinds[0], together, change) for change in PERSON_CHANGES)


def _replay_at(size: int, subject: AuditSubject, pairs: Pairs) -> list[float]:
    """Replay a fit on tables of this many rows, in two runs: the worst pair among random rows, and the last among corners."""
    random, corners = _large_tables(subject.geometry, size - 1)
    tables = [pairs.take(np.array([at])).tables(common) for at, common in ((0, random), (pairs.first.n - 1, corners))]
    first, second = (WholeSample(*(pair[world][0] for pair in tables)) for world in range(2))
    return replay(subject, first, second, MAX_CALLS_AT_SIZE)[1]


@lru_cache(maxsize=1)
def _large_tables(geometry: Geometry, count: int) -> tuple[Rows, Rows]:
    """Return the tables of random rows and of corners. Drawing them takes as long as replaying a fit, and audits share them."""
    random, _, corners, _ = common_tables(geometry, count)
    return random, corners


def replay(
    subject: AuditSubject, first: Sample, second: Sample, max_calls: int | None = None
) -> tuple[list[Answers], list[float]]:
    """Fit on one sample and replay the fit on the other; raise :class:`Violation` where they differ by more than is declared.

    Return the answer to each call on either sample, and how far it moved in units of the declared bound. The second fit has
    noise streams of its own: all that it may know of the first one's noise is the answers.
    """
    curator = subject.taping_curator(first, max_calls)
    fit = _fit(subject, curator)
    draws = subject.draws("replay, second world", first.runs)
    replaying = ReplayCurator(second, draws, subject.budget, curator.tape or [], stopped=fit is None)
    replaying.tape = []
    again = _fit(subject, replaying)
    replaying.finish()
    if fit is not None and again is not None:
        _compare(fit, again)
    _check_ledger(curator)
    return list(zip(curator.tape or [], replaying.tape, strict=True)), replaying.ratios


def _fit(subject: AuditSubject, curator: Curator) -> Fit | None:
    """Return the fit, or None if it was stopped after a number of calls."""
    try:
        return subject.try_fit(curator)
    except Stopped:
        return None


def _compare(fit: Fit, again: Fit) -> None:
    """Check that two fits with the same answers are equal in everything that is recorded of them."""
    same = {
        "weights": np.array_equal(fit.weights, again.weights, equal_nan=True),
        "statuses": np.array_equal(fit.status, again.status),
        "health": _equal(fit.health, again.health),
        "notes": _equal(fit.notes, again.notes),
        "intervals": same_state(fit.uncertainty, again.uncertainty),
    }
    for what, equal in same.items():
        if not equal:
            raise Violation(f"With the same answers the neighbour's {what} are others: they depend on more than the answers.")


def _equal(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    pairs = ((np.asarray(values, dtype=float), np.asarray(second.get(name), dtype=float)) for name, values in first.items())
    return first.keys() == second.keys() and all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)


def _check_ledger(curator: Curator) -> None:
    """Check that the ledger lists the cost of every call that was made, in order, for each run."""
    tape = curator.tape or []
    for run in {answer.run for answer in tape} | {None}:
        calls = [(answer.query, answer.call.cost) for answer in tape if answer.run in (None, run)]
        entries = [(entry.query, entry.cost) for entry in curator.ledger.of_run(run)]
        called, paid = ([line for line in lines if not isinstance(line[1], Nothing)] for lines in (calls, entries))
        if called != paid:
            raise Violation("The ledger is not that of the calls that were made.")
