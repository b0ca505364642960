"""The replay level: on neighbours, and with the same noisy answers, a mechanism must make the same calls and keep its bounds.

This checks every declared sensitivity. Many pairs are replayed together, one pair per run, and a few pairs alone, because a
mechanism that looks at all runs together could hide what it does for one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dpbench.accounting.costs import Nothing
from dpbench.audit.neighbours import Pairs, common_rows, fixed_and_random_pairs, join, worst_pairs, zero_rows
from dpbench.audit.subject import Answers, AuditSubject
from dpbench.data.samples import Sample, WholeSample
from dpbench.privacy.curator import Answer, Curator
from dpbench.privacy.replay import ReplayCurator, Violation

SINGLE_REPLAYS = 5
"""Pairs that are also replayed alone."""


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


def audit_replays(subject: AuditSubject, tape: Sequence[Answer]) -> tuple[Replays, Pairs]:
    """Replay fits on the worst pairs for the answers of a tape; return the outcome and the pairs, the worst first."""
    geometry, generator = subject.geometry, np.random.default_rng(subject.settings.seed)
    start = fixed_and_random_pairs(geometry, generator)
    worst = [worst_pairs(geometry, answer, start, generator) for answer in tape]
    pairs = join(*(part for part in worst if part is not None), start)
    alone = np.linspace(0, pairs.first.n - 1, SINGLE_REPLAYS).astype(int)
    ratio, violation = 0.0, ""
    try:
        for make_rows, index in product((common_rows, zero_rows), (np.arange(pairs.first.n), *alone[:, None])):
            first, second = pairs.take(index).tables(make_rows(geometry, subject.settings.rows - 1))
            _, ratios = replay(subject, WholeSample(*first), WholeSample(*second))
            ratio = max([ratio, *ratios])
    except Violation as error:
        violation = str(error)
    return Replays(pairs.first.n, len(tape), ratio, pairs.origin[0], violation), pairs


def replay(subject: AuditSubject, first: Sample, second: Sample) -> tuple[list[Answers], list[float]]:
    """Fit on one sample and replay the fit on the other; raise :class:`Violation` where they differ by more than is declared.

    Return the answer to each call on either sample, and how far it moved in units of the declared bound.
    """
    curator = subject.taping_curator(first)
    fit = subject.try_fit(curator)
    replaying = ReplayCurator(second, subject.draws("replay", first.runs), subject.budget, curator.tape or [])
    replaying.tape = []
    again = subject.try_fit(replaying)
    replaying.finish()
    same = np.array_equal(fit.weights, again.weights, equal_nan=True) and np.array_equal(fit.status, again.status)
    if not same or dict(fit.notes) != dict(again.notes):
        raise Violation("With the same answers the neighbour's weights are others: they depend on more than the answers.")
    if first.runs == 1:
        _check_ledger(curator)
    return list(zip(curator.tape or [], replaying.tape, strict=True)), replaying.ratios


def _check_ledger(curator: Curator) -> None:
    """Check that the ledger lists the cost of every call that was made, in order."""
    calls = [(answer.query, answer.call.cost) for answer in curator.tape or []]
    entries = [(entry.query, entry.cost) for entry in curator.ledger.entries]
    called, paid = ([line for line in lines if not isinstance(line[1], Nothing)] for lines in (calls, entries))
    if called != paid:
        raise Violation("The ledger is not that of the calls that were made.")
