"""Check a recorded or released fit by its tape, which holds the calls it really made and the answers it really got.

A mechanism could behave well only where it notices an audit, so the fit itself is checked: its result follows from the noisy
answers in a process that has seen no row; no pair of rows, real or made up, moves an answer by more than the bound of the noise
that was really drawn; what a row contributes does not depend on other rows; and noise and price are those of the law.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpbench.accounting.composition import compose
from dpbench.audit.deterministic_checks import ALONE_TOLERANCE, ROW_TOLERANCE
from dpbench.audit.neighbours import (
    MAX_CONTRIBUTIONS,
    ROUNDS,
    SURVIVORS,
    Pairs,
    columns_of,
    fixed_and_random_pairs,
    join,
    random_rows,
    search,
)
from dpbench.audit.same_state import same_state
from dpbench.audit.tables import extreme_rows
from dpbench.audit.transcript import Transcript, fit_again, transcript_of
from dpbench.base.core_classes import is_core_class
from dpbench.base.pristine_process import TaskFailed, run_pristine
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.data.samples import Sample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Ledger
from dpbench.privacy.noise import Draws, Noise, length
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.histogram import Histogram
from dpbench.privacy.queries.query import Query, RowQuery, contributions
from dpbench.privacy.replay import ROUNDING, Violation

RUNS_ALONE = 3
"""Runs whose result must follow from their own answers alone."""
PAIRED_ROWS = 500
"""Rows of a run that are paired with each other."""
EXTREME_ROWS = 200
"""Real rows that contribute one by one: those that lie furthest out in some column."""
STRANGERS = 50
"""Made-up rows among which the real ones contribute a second time."""
SECOND_CHUNK = 5_003
"""Rows that contribute together the second time: another number than the first time."""
SEARCHED_CALLS = 20
"""Calls for which a local search looks for worse pairs; the others are tried with the pairs that it begins with."""
MIN_SECONDS = 20.0
SECONDS_PER_SECOND = 20
"""How much longer than the fit the same steps may take without rows."""


def claims_privacy(ledger: Ledger) -> bool:
    """Return whether a fit claims to be private. If something was revealed, leaked or unproven, its record says so."""
    return ledger.sound and ledger.total.private and not ledger.leaks


def check_fit(
    mechanism: Mechanism,
    model: Model,
    curator: Curator,
    sample: Sample,
    fit: Fit,
    seconds: float,
    draws: Draws | None = None,
) -> None:
    """Check a fit by the tape of its curator; raise :class:`Violation` if it does not keep its word.

    ``draws``: the streams of simulated noise, which is then drawn a second time.
    """
    tape, ledger = curator.tape or [], curator.ledger
    _check_price(tape, ledger)
    check_answers(tape, sample, draws)
    config, model_config = ({"name": part.name, **part.options()} for part in (mechanism, model))
    transcript = transcript_of(config, model_config, ledger.budget, sample, tape)
    _check_result(transcript, fit, MIN_SECONDS + SECONDS_PER_SECOND * seconds)


def check_answers(tape: Sequence[Answer], sample: Sample, draws: Draws | None = None) -> None:
    """Check that no pair of rows moves an answer by more than its bound; raise :class:`Violation` if one does."""
    generator = np.random.default_rng(0)
    for number, answer in enumerate(tape):
        try:
            _check_answer(answer, sample, generator, ROUNDS if number < SEARCHED_CALLS else 0)
            if draws is not None:
                _check_draw(answer, draws)
        except Violation:
            raise
        except Exception as error:  # noqa: BLE001  its text may quote a row
            raise Violation(f"The query {answer.query!r} fails on some rows with {type(error).__name__}.") from None


def _check_answer(answer: Answer, sample: Sample, generator: np.random.Generator, rounds: int) -> None:
    """Check the bound of one answer at the worst pairs that are found, and that rows contribute alone."""
    query, noise, geometry = answer.call.query, answer.noise, answer.call.geometry
    if noise is None:
        return
    if isinstance(noise, Noise) and isinstance(
        query, Histogram
    ):  # the core counts it: a replaced row leaves one bin and enters another
        moved = geometry.replaced_rows * length(np.array([1.0, -1.0]), noise.law.norm)
        _check_ratio(answer, noise, float(moved / noise.scale.min() / noise.bound))
        return
    # the run with the least noise; in a curator of one run it has the number 0
    least = int(np.argmin(noise.scale.sum(axis=1))) if isinstance(noise, Noise) else 0
    run = least if answer.run is None else answer.run
    number = run if answer.run is None else 0
    rows = columns_of(sample.rows(run), geometry)
    if not is_core_class(type(query)) or isinstance(query, RowQuery) or getattr(query, "weighted", False):
        _check_sum(query, rows, number, np.asarray(answer.exact)[number], generator)

    def move(first: Rows, second: Rows) -> np.ndarray:
        one, other = (contributions(query, part, number) * (part.z[:, :1] > 0) for part in (first, second))
        return noise.moved(geometry.replaced_rows * one, geometry.replaced_rows * other, run=number)

    paired = min(PAIRED_ROWS, max(MAX_CONTRIBUTIONS // query.size, 1))
    chosen = rows.take(generator.permutation(rows.n)[:paired])
    real = Pairs(chosen, chosen.take(generator.permutation(chosen.n)), ("rows",) * chosen.n)
    worst = search(move, join(fixed_and_random_pairs(geometry, generator), real), generator, rounds, SURVIVORS)
    _check_ratio(answer, noise, float(move(worst.first, worst.second)[0]))


def _check_ratio(answer: Answer, noise: Noise | Procedure, ratio: float) -> None:
    if not ratio <= 1 + ROUNDING:  # NaN too
        raise Violation(f"Neighbours can move the query {answer.query!r} by more than its declared {noise.measure}.")


def _check_sum(query: Query, rows: Rows, run: int, exact: np.ndarray, generator: np.random.Generator) -> None:
    """Check that rows contribute the same in another order, in other chunks, among rows that are made up, and alone."""
    strangers = random_rows(rows.geometry, generator, STRANGERS)
    mixed = Rows(np.concatenate([rows.z, strangers.z]), rows.geometry)
    order = generator.permutation(mixed.n)
    extreme = extreme_rows(rows, EXTREME_ROWS)
    together = np.zeros((len(extreme), query.size))
    total, size = np.zeros(query.size), np.zeros(query.size)
    for start in range(0, mixed.n, SECOND_CHUNK):
        index = order[start : start + SECOND_CHUNK]
        parts = contributions(query, mixed.take(index), run)
        _, at, among = np.intersect1d(extreme, index, assume_unique=True, return_indices=True)
        together[at] = parts[among]
        parts = parts[index < rows.n]
        total += parts.sum(axis=0)
        size += np.abs(parts).sum(axis=0)
    alone = np.concatenate([contributions(query, rows.take(np.array([at])), run) for at in extreme])
    # what is small next to other contributions may be nothing but rounding
    same = np.abs(together - alone) <= ROW_TOLERANCE * np.abs(alone).max(initial=float(size.max() / rows.n))
    equal = np.abs(total - exact) <= ROW_TOLERANCE * (size + np.abs(exact)) + np.finfo(float).tiny
    if not (same.all() and equal.all()):
        raise Violation(f"What a row contributes to the query {query.name!r} depends on other rows, or on what came before.")


def _check_price(tape: Sequence[Answer], ledger: Ledger) -> None:
    """Check that every answer was paid for by its noise, as it is priced now."""
    due = [noise.cost for answer in tape if (noise := answer.noise) is not None and answer.run in (None, 0)]
    if compose(due, ledger.budget.delta).epsilon > ledger.total.epsilon * (1 + ROUNDING) and ledger.budget.accounting == "closed":
        raise Violation("The ledger does not pay for the answers that were given.")


def _check_draw(answer: Answer, draws: Draws) -> None:
    """Check that an answer has the noise of its stream, which is drawn a second time."""
    noise, exact = answer.noise, np.asarray(answer.exact)
    if answer.call.method != "release" or answer.stream is None or not isinstance(noise, Noise):
        return
    runs = range(len(exact)) if answer.run is None else [answer.run]
    standard = np.stack([noise.law.standard(draws.generator(run, *answer.stream), exact.shape[1]) for run in runs])
    if not np.array_equal(answer.noisy, exact + noise.law.shape(standard, noise.scale)):
        raise Violation(f"The noise of the query {answer.query!r} is not what its law draws.")


def _check_result(transcript: Transcript, fit: Fit, seconds: float) -> None:
    """Check that the result follows from the noisy answers, and each run's result from its own."""
    again = _fitted(transcript, seconds)
    pairs: Sequence[tuple[Any, Any]] = (
        *((fit.weights, again.weights), (fit.status, again.status)),
        *((value, again.health.get(name)) for name, value in fit.health.items()),
        *((value, again.notes.get(name)) for name, value in fit.notes.items()),
    )
    same = fit.health.keys() == again.health.keys() and fit.notes.keys() == again.notes.keys()
    same = same and same_state(fit.uncertainty, again.uncertainty)
    if not (same and all(_equal(first, second) for first, second in pairs)):
        raise Violation("The result does not follow from the noisy answers: without the rows, the same answers give another one.")
    runs = range(min(len(fit.weights), RUNS_ALONE))
    others = [transcript.with_another_run()] if len(fit.weights) == 1 else map(transcript.with_answers_of, runs)
    for run, other in zip(runs, others, strict=True):
        weights = _fitted(other, seconds, changed=True).weights[run]
        slack = ALONE_TOLERANCE * max(1.0, float(np.abs(np.nan_to_num(weights)).max()))
        if not np.allclose(weights, fit.weights[run], rtol=0, atol=slack, equal_nan=True):
            raise Violation("The result of a run depends on the answers of other runs, so a row's ε is paid more than once.")


def _fitted(transcript: Transcript, seconds: float, changed: bool = False) -> Fit:
    try:
        fit: Fit = run_pristine(fit_again, transcript, changed, seconds=seconds)
    except TaskFailed as failed:
        raise Violation(f"The result does not follow from the noisy answers: without the rows, {failed}.") from None
    return fit


def _equal(first: Any, second: Any) -> bool:
    """Return whether two results are the same to the bit; NaN equals NaN."""
    one, other = np.asarray(first), np.asarray(second)
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
