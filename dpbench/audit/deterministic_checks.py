"""Checks of the replay level that need no statistics: what a fit and its queries must never depend on, and never change.

- A run has the same weights in a batch as by itself, with the same draws, because answers are priced run by run.
- The exact answer of a query is the sum of what its rows contribute one by one, on any table.
- A fit leaves its inputs and the global random generators as they were.
- Noise reaches the weights: a mechanism that subtracts the simulated noise would have the same weights at any ε.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpbench.audit.global_generators import watched_generators
from dpbench.audit.neighbours import columns_of
from dpbench.audit.subject import AuditSubject, BoundedRetryCurator
from dpbench.audit.tables import TABLE_KINDS, common_tables, extreme_rows, looks_at_rows, outlier_table
from dpbench.contracts.fit import Fit
from dpbench.data.bins import BinCounts
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer
from dpbench.privacy.noise import Draws
from dpbench.privacy.queries.query import Query, contributions, exact_answer
from dpbench.privacy.replay import Violation

TOLERANCE = 1e-9
"""Relative to the largest number: the same sum in another order may differ by rounding."""
ALONE_TOLERANCE = 1e-4
"""How far a run's weights may differ in a batch and by themselves, relative to the largest.

An honest solver may stop when all runs have converged, so that a run makes more steps in a batch: with steps of 10⁻⁶ and a
condition of 100 that moves weights by 10⁻⁴. A run that uses the answers of other runs moves by their share in the result: by a
quarter where the four runs of an audit are averaged, and by a tenth in the weakest of the planted faults.
"""
ROW_TOLERANCE = 1e-6
"""The same for what a row contributes: single precision rounds to 6·10⁻⁸, and multiplies one row in another order than many.

A contribution that is centred by the mean of n rows moves by about 1/n, and tables of audits have up to 20,000 rows.
"""
OTHER_FACTORS = (1e9, 1e-3)
"""Budgets at which noise vanishes, or drowns the rows, in units of the cell's own. The second is tried where the first fails:
a mechanism may refuse a large ε, or have a price that holds for a small ε alone."""
ALONE_ROWS = 50
"""Rows of a table, of any and of its extreme ones, that contribute one by one."""
OUTLIER_TABLE_ROWS = 101
"""Rows of the table with one outlier, which lies 10 standard deviations from the mean."""


@dataclass(frozen=True)
class BatchFit:
    """A fit of several runs on different tables, and what it did to what others share."""

    tables: Sequence[Rows]
    draws: Draws
    fit: Fit
    used_global_generator: bool
    """Whether ``numpy.random`` or ``random`` are in another state than before."""
    changed_inputs: bool
    """Whether rows, sums or draws are others than before."""


def fit_batch(subject: AuditSubject) -> BatchFit:
    """Fit a batch of runs on different tables, and watch what it changes."""
    tables = common_tables(subject.geometry, subject.settings.rows)
    sample = WholeSample(*tables)
    draws = subject.draws("batch", sample.runs)
    before = _digest(sample)
    with watched_generators() as generators:
        fit = _fit(subject, sample, draws)
    return BatchFit(tables, draws, fit, generators.used, changed_inputs=_digest(sample) != before or draws.altered())


def check_fits(subject: AuditSubject) -> None:
    """Fit a batch of runs on different tables, and each run by itself."""
    batch = fit_batch(subject)
    if batch.used_global_generator:
        raise Violation("The fit used a global random generator (numpy.random or random), which others share.")
    if batch.changed_inputs:
        raise Violation("The fit changed rows, sums or draws that others share.")
    check_runs_alone(subject, batch)


def check_runs_alone(subject: AuditSubject, batch: BatchFit) -> None:
    """Fit each run of a batch by itself, with the same draws: the results must be those of the batch."""
    together = batch.fit
    for run, table in enumerate(batch.tables):
        alone = _fit(subject, WholeSample(table), batch.draws.for_run(run))
        health = {name: events[run].tolist() for name, events in together.health.items()}
        same = together.status[run] == alone.status[0] and health == {name: events[0] for name, events in alone.health.items()}
        if not (same and _close(together.weights[run], alone.weights[0], tolerance=ALONE_TOLERANCE)):
            raise Violation("A run has other weights in a batch than by itself: it depends on the answers of other runs.")


def check_noise(subject: AuditSubject) -> None:
    """Fit with noise and practically without, by the same draws: weights that the noise does not reach are exact fits.

    An error at another ε is no evidence. Neither are draws that are all zero, as those of whole numbers are at a large ε.
    """
    tables = common_tables(subject.geometry, subject.settings.rows)
    sample = WholeSample(*tables, *tables)
    seed, identity = subject.streams or (subject.settings.seed, "audit, noise")
    runs = [(run // 2, run % 2) for run in range(sample.runs)]
    curator = BoundedRetryCurator(sample, Draws(seed, identity, runs), subject.budget)
    curator.tape = []
    noisy = subject.try_fit(curator).weights
    if curator.tape and all(_is_exact(answer) for answer in curator.tape):
        return
    for factor in OTHER_FACTORS:
        budget = subject.budget.share(factor)
        try:
            other = replace(subject, budget=budget).fit(BoundedRetryCurator(sample, Draws(seed, identity, runs), budget)).weights
        except Exception:  # noqa: BLE001  a plugin may raise anything
            continue
        # constant weights reveal nothing; others that ignore the noise are a function of the rows alone
        unmoved = all(_close(first, second) for first, second in zip(noisy, other, strict=True)) and np.isfinite(noisy).all()
        if unmoved and any(not _close(row, noisy[0]) for row in noisy[1 : len(tables)]):
            raise Violation(f"The noise does not reach the weights: they are the same at {factor:g} times the ε.")
        return


def _is_exact(answer: Answer) -> bool:
    """Return whether the noise of a private answer happens to be zero throughout."""
    if answer.noise is None:
        return False
    if isinstance(answer.exact, np.ndarray):
        return np.array_equal(answer.exact, answer.noisy)
    if not (isinstance(answer.noisy, tuple) and all(isinstance(counts, BinCounts) for counts in answer.noisy)):
        return False  # a histogram that was not read as bins, of which some may be empty
    for exact, noisy in zip(answer.exact, answer.noisy, strict=True):
        known = dict(zip(map(tuple, exact.index.tolist()), exact.counts.tolist(), strict=True))
        if any(known.get(tuple(at)) != count for at, count in zip(noisy.index.tolist(), noisy.counts.tolist(), strict=True)):
            return False
    return True


def check_sums(subject: AuditSubject, tape: Sequence[Answer]) -> None:
    """Add up the contributions to every answer of a tape, row by row, on this table and on others."""
    rows = subject.settings.rows
    for answer in tape:
        query, geometry = answer.call.query, answer.call.geometry
        if not looks_at_rows(answer):
            continue
        # what is small next to ordinary contributions may be nothing but rounding, as where a prediction meets its target
        ordinary = float(np.abs(contributions(query, columns_of(common_tables(geometry, rows)[0], geometry), 0)).max(initial=0.0))
        for size in {1, 3, rows, 2 * rows + 1, min(subject.size_class, 20_000)} - {0}:
            for table in common_tables(geometry, size)[: TABLE_KINDS if size <= 2 * rows + 1 else 1]:
                _check_sum(query, columns_of(table, geometry), ordinary)
        _check_sum(query, columns_of(outlier_table(geometry, OUTLIER_TABLE_ROWS), geometry), ordinary)


def _check_sum(query: Query, table: Rows, ordinary: float) -> None:
    """Check one table: the rows' contributions must be those of each row by itself, in any order, and their sum the answer."""
    order = np.random.default_rng(table.n).permutation(table.n)
    together, permuted = contributions(query, table, 0), contributions(query, table.take(order), 0)
    chosen = np.union1d(order[:ALONE_ROWS], extreme_rows(table, ALONE_ROWS))
    alone = np.concatenate([contributions(query, table.take(np.array([at])), 0) for at in chosen])
    same = _close(together[chosen], alone, ordinary, ROW_TOLERANCE) and _close(together[order], permuted, ordinary, ROW_TOLERANCE)
    if not same:
        raise Violation(f"What a row contributes to the query {query.name!r} depends on the other rows.")
    # the rounding of a sum is relative to its terms: they may cancel
    size = float(np.abs(together).sum(axis=0).max(initial=ordinary))
    if not _close(exact_answer(query, WholeSample(table))[0], together.sum(axis=0), size, ROW_TOLERANCE):
        raise Violation(f"The exact answer to the query {query.name!r} is not the sum of its rows' contributions.")


def _fit(subject: AuditSubject, sample: Sample, draws: Draws) -> Fit:
    return subject.try_fit(BoundedRetryCurator(sample, draws, subject.budget))


def _close(first: np.ndarray, second: np.ndarray, least_scale: float = 0.0, tolerance: float = TOLERANCE) -> bool:
    scale = float(np.nan_to_num(np.abs(np.concatenate([np.ravel(first), np.ravel(second)])), posinf=0.0).max(initial=least_scale))
    return bool(np.allclose(first, second, rtol=0.0, atol=tolerance * max(scale, 1e-300), equal_nan=True))


def _digest(sample: Sample) -> list[str]:
    """Return digests of everything that a fit gets from a sample."""
    arrays = [sample.moments.gram, sample.moments.xx, sample.moments.xy, sample.n, sample.half_range]
    arrays += [sample.rows(run).z for run in range(sample.runs)]
    return [hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest() for array in arrays]
