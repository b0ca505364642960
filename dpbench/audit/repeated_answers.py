"""Repeated answers: each call of a transcript is repeated thousands of times on both tables, with all earlier answers fixed.

So each answer is judged by its own price, even where the query depends on earlier answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.accounting.costs import Nothing
from dpbench.audit.subject import Answers, AuditSubject
from dpbench.data.bins import BinCounts
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer, Call
from dpbench.privacy.curator import Curator
from dpbench.privacy.queries.histogram import Histogram

MAX_SCANNED_BINS = 30_000_000
"""Bins of scanned histograms that are drawn on each table. Larger histograms are scanned in fewer runs."""
MIN_SCANS = 400
UNCHANGED_BINS = 40
"""Bins of a scanned histogram whose noise is tested although their counts are the same on both tables."""


@dataclass(frozen=True)
class RepeatedAnswers:
    """One answer of a transcript, drawn many times on both tables."""

    answer: Answer
    numbers: np.ndarray
    """What was returned: (tables, runs, numbers)."""
    exact: np.ndarray
    """The same without noise: (tables, numbers). A procedure's answer has no such part: zeros."""
    additive: bool
    """Whether each number is the exact one plus noise of the declared law, without any selection."""


def repeat_answers(
    transcript: Sequence[Answers], subject: AuditSubject, tables: tuple[Rows, Rows], runs: int
) -> Iterator[RepeatedAnswers]:
    """Repeat each call of a transcript of a single run, except calls that claim nothing."""
    for number, answers in enumerate(transcript):
        call = answers[0].call
        if isinstance(call.cost, Nothing):
            continue
        bins = _compared_bins(call, answers)
        size = min(runs, max(MAX_SCANNED_BINS // call.query.size, MIN_SCANS)) if call.method == "scan" else runs
        numbers, exact = [], []
        for index, (answer, table) in enumerate(zip(answers, tables, strict=True)):
            known = None if call.method == "ask" else answer.exact[0]  # a procedure may look at more than one sum
            curators = subject.curators(table, size, f"call {number}, world {index}", known, of_one_run=known is None)
            numbers.append(np.concatenate([_repeat(call, answer, curator, bins) for curator in curators]))
            exact.append(_exact(call, answer, bins))
        yield RepeatedAnswers(answers[0], np.stack(numbers), np.stack(exact), call.method in ("release", "scan"))


def _repeat(call: Call, answer: Answer, curator: Curator, bins: np.ndarray) -> np.ndarray:
    """Repeat one call in every run of a curator: (runs, numbers). Of a histogram, only these bins are returned."""
    query: Any = call.query
    noise: Any = answer.noise
    match call.method:
        case "release":
            return curator.release(query, noise)
        case "until":
            accept, max_tries = call.arguments["accept"], call.arguments["max_tries"]
            # the transcript has a single run, whose number the mechanism's condition expects
            return curator.until(query, noise, lambda _, vector: bool(accept(0, vector)), max_tries)[0]
        case "ask":
            return curator.ask(noise)
        case "unproven":
            return curator.unproven(query, **call.arguments).reshape(curator.runs, -1)
        case "scan":
            scan = curator.scan(query, noise, **call.arguments)
            runs = (np.concatenate([counts for _, counts in scan.blocks(run)]) for run in range(curator.runs))
            return np.stack([counts[bins[:, 0]] for counts in runs])
        case "sparse":
            return np.stack([_counts(tally, bins) for tally in curator.sparse(query, noise, **call.arguments)])


def _exact(call: Call, answer: Answer, bins: np.ndarray) -> np.ndarray:
    """Return an answer without its noise."""
    exact = answer.exact[0]
    if isinstance(call.query, Histogram):
        return _counts(exact, bins)
    if call.method == "ask":
        return np.zeros(answer.noisy.shape[1])
    if answer.noise is not None:
        return np.asarray(exact)
    # only the sampler can tell the answer from its noise: with the same draws, this is what the exact sum contributes
    sampler = call.arguments["sampler"]
    drawn, noise = (np.ravel(sampler(total, np.random.default_rng(0))) for total in (exact, 0 * exact))
    return np.asarray(drawn - noise)


def _compared_bins(call: Call, answers: Answers) -> np.ndarray:
    """Return the bins whose counts differ between the tables, and for a scan the first few others: (bins, words)."""
    if not isinstance(call.query, Histogram):
        return np.empty((0, 1), dtype=int)
    change = answers[1].exact[0].minus(answers[0].exact[0], call.query.binning)
    changed = np.asarray(change.index[change.counts != 0])
    if call.method == "sparse":
        return changed
    others = np.setdiff1d(np.arange(min(call.query.size, UNCHANGED_BINS)), changed[:, 0])
    return np.concatenate([changed, others[:, None]])


def _counts(tally: BinCounts, bins: np.ndarray) -> np.ndarray:
    """Return the counts of these bins, 0 where a tally has none."""
    same = (tally.index[None, :, :] == bins[:, None, :]).all(axis=2)
    return np.asarray(same @ tally.counts)
