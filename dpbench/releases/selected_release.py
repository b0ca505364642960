"""Release one of several candidates, chosen by the data, and pay for the choice.

Each candidate releases its fit and a noisy score of it within its own share of the budget, which
:mod:`dpbench.accounting.selection_plan` makes so that the total is what was asked for. The budget book is charged with the total
before the first answer. Only the chosen model and its score leave: not the others, nor how many were tried.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from dpbench.accounting.costs import Approx, Cost, Gdp, LedgerEntry, Pure
from dpbench.accounting.selection_plan import CandidateShare, SelectionPlan, plans
from dpbench.audit.fit_check import check_answers
from dpbench.base.errors import Refused, Unfinished
from dpbench.cells.budgets import made_up
from dpbench.contracts.fit import Fit
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.random_stopping import RandomStopping
from dpbench.privacy.replay import Violation
from dpbench.privacy.secure_noise import SecureCurator
from dpbench.registry.lookup import registry
from dpbench.releases.error_score import ErrorScore, score_noise
from dpbench.releases.fit_release import FitRequest, Reserve, fitted, released, replayed
from dpbench.releases.release_data import ReleaseData, read_all_rows, replaced
from dpbench.releases.release_file import Release
from dpbench.releases.selection_section import proof_of, selection_section

STOPPING = RandomStopping()
REHEARSED_ROWS = 1_000
"""Made-up rows on which candidates are tried with secure noise."""


@dataclass(frozen=True)
class FitCandidate:
    """A fit that may be chosen, with what it may spend and what its answers cost."""

    request: FitRequest
    data: ReleaseData
    share: CandidateShare
    costs: tuple[Cost, ...]
    """Public: found on made-up rows. The last one is the score's."""


@dataclass(frozen=True)
class Attempt:
    """A candidate that was tried."""

    number: int
    fit: Fit | None
    """None if it failed."""
    entries: tuple[LedgerEntry, ...]
    score: float
    """Infinite if the fit failed, which is the worst."""


def selected_release(configs: Sequence[Mapping[str, Any]], reserve: Reserve = lambda *_: lambda: None) -> Release:
    """Return the release of the candidate with the best noisy score; the configurations agree in all but mechanism and model.

    Every candidate is replayed before the first private answer. From then on the whole budget is spent, whatever happens.
    """
    requests = [FitRequest.of(config) for config in configs]
    plan, candidates = _planned(requests, _tables(requests))
    vouched_by = [replayed(candidate.request, candidate.data) for candidate in candidates]
    if unpaid := [each.request.mechanism.name for each in candidates if not plan.covers(each.costs)]:
        names, asked = " and ".join(dict.fromkeys(unpaid)), requests[0].settings
        raise Refused(
            f"A choice by the data cannot pay for {names} at ε = {asked.epsilon:g}: its cost is above its share, or cannot be "
            f"counted at δ = {asked.delta:g}."
        )
    for candidate in candidates:
        _rehearse(candidate)
    budget, neighbours = _budget(plan), candidates[0].data.sample.geometry.neighbours
    reserve(candidates[0].data.payer, budget, neighbours)
    with _spent(plan):
        order = range(len(candidates)) if plan.way == "each once" else STOPPING.candidates(len(candidates))
        best = _best(_attempts(plan, candidates, order))
    chosen = candidates[best.number]
    entry = LedgerEntry(f"choice among {len(candidates)} candidates", plan.total, True, proof_of(plan, STOPPING))
    ledger = Ledger(budget, [entry], neighbours=neighbours)
    parts = [(each.request, each.share, each.costs) for each in candidates]
    section = selection_section(plan, STOPPING, parts, vouched_by, best.number, best.entries, best.score)
    paid = ledger.as_dict(requests[0].settings.epsilon)
    privacy = {"ledger": paid, "vouched_by": vouched_by[best.number], "selection": section}
    assert best.fit is not None
    return released(chosen.request, chosen.data, best.fit, privacy)


def _tables(requests: Sequence[FitRequest]) -> list[ReleaseData]:
    """Return what each request is fitted on. Those whose design has an intercept share their rows, and so do the others."""
    kinds = {request.model.target for request in requests}
    if len(kinds) > 1:
        raise Refused("The models of a choice must all be of a real target, or all of a binary one. Got both.")
    if {(request.settings.budget, request.settings.accounting) for request in requests} != {("matched", "closed")}:
        raise Refused("A choice by the data needs budget=matched and accounting=closed, from which its total follows.")
    tables: dict[bool, ReleaseData] = {}
    for request in requests:
        same = [other.mechanism for other in requests if other.model.intercept == request.model.intercept]
        if request.model.intercept not in tables:
            tables[request.model.intercept] = read_all_rows(request.dataset, request.model, same, request.settings.seed)
        request.check(tables[request.model.intercept])
    if len({data.payer for data in tables.values()}) > 1:
        raise replaced(requests[0].dataset)
    return [tables[request.model.intercept] for request in requests]


def _planned(requests: Sequence[FitRequest], tables: Sequence[ReleaseData]) -> tuple[SelectionPlan, list[FitCandidate]]:
    """Return the plan that leaves the fits most among those that pay for their answers, and the candidates under it."""
    epsilon, delta = requests[0].settings.epsilon, requests[0].settings.delta
    possible = plans(epsilon, delta, [request.mechanism.counted() == "pure" for request in requests], STOPPING.mean)
    for plan in possible:
        candidates = list(map(_candidate, requests, tables, plan.shares))
        if all(plan.covers(candidate.costs) for candidate in candidates):
            break
    return plan, candidates


def _candidate(request: FitRequest, data: ReleaseData, share: CandidateShare) -> FitCandidate:
    delta = share.fit.delta or request.settings.delta
    narrower = replace(request, settings=replace(request.settings, epsilon=share.fit.epsilon, delta=delta))
    return FitCandidate(narrower, data, share, (*narrower.costs(data), Pure(share.score)))


def _rehearse(candidate: FitCandidate) -> None:
    """Fit and score made-up rows, so that a candidate without secure noise is refused before anything is charged."""
    geometry, data = candidate.data.sample.geometry, candidate.data
    rows = made_up(geometry, min(data.n, REHEARSED_ROWS))
    rehearsed = replace(candidate, data=replace(data, sample=WholeSample(rows)))
    try:
        fit, _ = fitted(rehearsed.request, rehearsed.data)
    except Unfinished:  # so few rows may fail a private test
        return
    _scored(rehearsed, fit)


def _attempts(plan: SelectionPlan, candidates: Sequence[FitCandidate], order: Iterable[int]) -> Iterator[Attempt]:
    """Fit and score candidates in this order."""
    for number in order:
        candidate = candidates[number]
        try:
            fit, ledger = fitted(candidate.request, candidate.data)
        except Unfinished:  # it follows from noisy answers, so a failure is an answer like any other
            yield Attempt(number, None, (), math.inf)
        else:
            score, paid = _scored(candidate, fit)
            entries = (*ledger.entries, *paid)
            if not plan.covers([entry.cost for entry in entries]):
                raise Unfinished("The answers of a candidate cost more than they do on made-up rows.")
            yield Attempt(number, fit, entries, score)


def _scored(candidate: FitCandidate, fit: Fit) -> tuple[float, list[LedgerEntry]]:
    """Return the noisy score of a fit, and what it cost."""
    request, sample = candidate.request, candidate.data.sample
    curator = SecureCurator(sample, Budget(candidate.share.score, currency="pure"), candidate.data.table.leaks)
    plugin = registry().runs_plugin(request.mechanism, request.model)
    curator.tape = [] if plugin else None
    score = ErrorScore(request.model.prepare(closed(curator)), fit.weights)
    noisy = curator.release(score, score_noise(sample.geometry, candidate.share.score))
    check_answers(curator.tape or [], sample)
    return float(noisy[0, 0]), curator.ledger.entries


def _best(attempts: Iterable[Attempt]) -> Attempt:
    """Return the attempt of the smallest score, of equal ones the first."""
    best = min(attempts, key=lambda attempt: attempt.score)
    if best.fit is None:
        raise Unfinished("No candidate that was tried has weights, so there is no model to write.")
    return best


@contextmanager
def _spent(plan: SelectionPlan) -> Iterator[None]:
    """Turn every error into one that says that the whole budget is spent, and quotes neither a row nor a candidate that lost."""
    spent = f"The whole ε = {plan.guarantee.epsilon:.6g} of the choice is spent: choosing again spends it again."
    try:
        yield
    except Unfinished as error:
        raise Unfinished(f"{error} {spent}") from None
    except Violation as violation:
        raise Unfinished(f"A candidate cannot be released. {violation} {spent}") from None
    except Refused as refusal:
        raise Unfinished(f"{refusal} {spent}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  its text, or a traceback, could quote rows
        raise Unfinished(f"The choice failed with {type(error).__name__}. {spent}") from None


def _budget(plan: SelectionPlan) -> Budget:
    """Return the budget that the total is worth, for the ledger and the budget book."""
    total, delta = plan.total, plan.delta or Budget().delta
    if isinstance(total, Gdp):
        return Budget(total.mu, delta, "gdp")
    return Budget(plan.guarantee.epsilon, delta, "approx" if isinstance(total, Approx) else "pure")
