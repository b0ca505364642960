"""Checks of a mechanism's claim: its ledger, its sensitivities on neighbouring tables, and the noise that it draws."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpbench.audit.deterministic_checks import check_noise, check_sums
from dpbench.audit.neighbours import ones_to_zeros
from dpbench.audit.procedure import audit_pair
from dpbench.audit.replay_level import audit_replays
from dpbench.audit.subject import AuditSubject, ClaimedPrivacy
from dpbench.contracts.mechanism import fit_closed
from dpbench.data.bins import Partition
from dpbench.data.samples import Summand, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation
from dpbench.testing.checks import Failure, NotApplicable, law
from dpbench.testing.designs import design_rows
from dpbench.testing.guarded import SPLIT_BUDGET
from dpbench.testing.mechanism_case import MechanismCase, named_tables
from dpbench.testing.mechanisms import batch_equals_alone, determinism, global_random_state, inputs_unchanged

BUDGET_TOLERANCE = 1e-6
"""Relative difference of the spent ε and the budget's that rounding explains."""
ROWS_PER_PERSON = 3


@law(
    "The ledger carries a proof for every answer, names no leak, and adds up to no more than the budget.",
    "Give every noise the sentence that proves its bound. What is not private goes through curator.unproven, reveal or leak, and "
    "its cells are never sound.",
)
def ledger_within_budget(case: MechanismCase) -> None:
    for model in case.models:
        ledger = case.fit(design_rows("regular", model), model).ledger
        if ledger.doubt:
            raise Failure(f"The ledger of a fit of {model.name} is not sound: {ledger.doubt}.")
        if ledger.leaks:
            raise Failure(f"A fit of {model.name} leaks {ledger.leaks[0].what}: {ledger.leaks[0].why}.")
        spent, budget = ledger.budget.spent([entry.cost for entry in ledger.entries]), ledger.budget
        if not spent <= budget.epsilon * (1 + BUDGET_TOLERANCE):
            text = f"A fit of {model.name} spends {spent:.6g} of a budget of {budget.epsilon:.6g} ({budget.currency})."
            raise Failure(text, SPLIT_BUDGET)


@law(
    "The exact answer of a query is the sum of what its rows contribute, each of which depends on that row alone.",
    "In contribution(rows, run) use no mean, rank, count or order of the rows: one row's numbers must follow from that row.",
)
def additive_answers(case: MechanismCase) -> None:
    _require_claim(case)
    for subject in case.subjects:
        with named_tables(subject):
            check_sums(subject, subject.tape_fit().tape or [])


@law(
    "The noise reaches the weights.",
    "Compute the weights from the noisy answers, and from nothing that a curator gave in another way.",
)
def noise_reaches_weights(case: MechanismCase) -> None:
    if not case.claims_privacy:
        raise NotApplicable("it claims no privacy")
    for subject in case.subjects:
        with named_tables(subject):
            check_noise(subject)


@law(
    "On neighbouring tables and with the same answers, a fit makes the same calls, no answer moves by more than its declared "
    "sensitivity, and the weights are the same.",
    "Raise the bound of the noise to the largest change by one row (objective.l1_bound('tight') knows it for objectives; for "
    "your own "
    "query it is the largest difference of two rows' contributions), and let nothing but the answers decide what the fit does.",
    after=(determinism, batch_equals_alone, inputs_unchanged, global_random_state, additive_answers, noise_reaches_weights),
)
def replay(case: MechanismCase) -> None:
    _require_claim(case)
    for subject in case.subjects:
        _check_replays(subject)


@law(
    "Where a person has several rows, the same holds for all rows of a person, replaced or missing.",
    "Multiply your own bounds by geometry.replaced_rows, check that a missing row moves no more than a replaced one, or set "
    "handles_persons = False.",
    after=(replay,),
)
def persons(case: MechanismCase) -> None:
    if not case.component.handles_persons:
        raise NotApplicable("it does not say that it handles persons with several rows")
    _require_claim(case)
    tables = [(subject.model, replace(subject.geometry, rows_per_person=ROWS_PER_PERSON)) for subject in case.subjects]
    reasons = [case.component.unsupported(model, geometry) for model, geometry in tables]
    if all(reasons):
        raise NotApplicable(str(reasons[0]))
    for (model, geometry), reason in zip(tables, reasons, strict=True):
        if not reason:
            _check_replays(case.subject(model, geometry))


def _check_replays(subject: AuditSubject) -> None:
    with named_tables(subject):
        replays, _ = audit_replays(subject, subject.tape_fit().tape or [])
        if replays.violation:
            raise Violation(replays.violation)


@law(
    "The noise that is drawn has the declared law and scale, and answers on neighbouring tables cannot be told apart by more "
    "than ε.",
    "Use laplace, gaussian or geometric of dpbench.noise, or give your own law its distribution function cdf(x, scale); never "
    "change "
    "an answer's noise afterwards.",
    after=(replay,),
)
def noise_and_statistics(case: MechanismCase) -> None:
    _require_claim(case)
    subject = case.subjects[0]
    curator = subject.tape_fit()
    with named_tables(subject):
        tests, bounds = audit_pair(subject, ones_to_zeros(subject.geometry), ClaimedPrivacy.of_fit(curator))
        for violation in (*(test.violation for test in tests), *(bound.violation for bound in bounds)):
            if violation:
                raise Violation(violation)


@law(
    "A mechanism that says that it needs second moments alone asks for nothing else.",
    "Set moments_alone = False, or ask only queries that are a MomentQuery without weights.",
)
def moments_alone(case: MechanismCase) -> None:
    if not case.component.uses_moments_alone():
        raise NotApplicable("it does not say that second moments suffice")
    model = next((model for model in case.models if model.uses_moments_alone()), None)
    if model is None:
        raise NotApplicable("it fits no model for which second moments suffice")
    rows = design_rows("regular", model)
    budget = case.budget(model, rows.geometry, rows.n)
    curator = Curator(SumsOnly(rows), Draws(0, "moments alone", [(0, 0)]), budget)
    fit_closed(case.component, model.prepare(closed(curator)), curator, budget)


class SumsOnly(WholeSample):
    """A sample that gives sums of products of columns, and no rows."""

    def rows(self, run: int) -> Rows:
        raise Failure("It asks for rows.")

    def chunks(self, run: int) -> Iterator[Rows]:
        raise Failure("It asks for rows.")

    def sums(self, query: Summand) -> np.ndarray:
        raise Failure("It asks a query of rows.")

    def bins(self, partition: Partition, run: int) -> np.ndarray:
        raise Failure("It asks for a histogram of rows.")


def _require_claim(case: MechanismCase) -> None:
    if not case.claims_privacy:
        raise NotApplicable("it claims no privacy")
    if case.is_opaque:
        raise NotApplicable("an outside program makes the fit, so its steps cannot be followed")


CHECKS = (
    *(ledger_within_budget, additive_answers, noise_reaches_weights, replay, persons),
    *(noise_and_statistics, moments_alone),
)
