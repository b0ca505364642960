"""One audit: the levels in order, with a share of the false alarms for each pair of tables, and the violations."""

from dataclasses import dataclass, replace

import numpy as np

from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound, epsilon_lower_bound
from dpbench.audit.neighbours import Pairs, common_rows, fixed_and_random_pairs, join, ones_to_zeros
from dpbench.audit.noise_goodness_of_fit import LAW_FALSE_ALARM, NoiseTest, check_answer_noise, check_plugin_laws
from dpbench.audit.repeated_answers import repeat_answers
from dpbench.audit.replay_level import Replays, audit_replays, replay
from dpbench.audit.scores import answer_scores, black_box_scores
from dpbench.audit.subject import AuditSubject, ClaimedPrivacy
from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry
from dpbench.data.samples import WholeSample
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Overspent
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.replay import Violation
from dpbench.records.leaks import UNPROVEN_NOISE


@dataclass(frozen=True)
class Audit:
    """The outcome of an audit on one geometry."""

    geometry: Geometry
    claim: ClaimedPrivacy
    replays: Replays
    noise_tests: tuple[NoiseTest, ...] = ()
    lower_bounds: tuple[EpsilonLowerBound, ...] = ()
    false_alarm: float = 0.0
    """The probability, at most, that all tests and bounds together fail a mechanism that keeps its claim."""

    @property
    def violations(self) -> tuple[str, ...]:
        parts: tuple[Replays | NoiseTest | EpsilonLowerBound, ...] = (self.replays, *self.noise_tests, *self.lower_bounds)
        return tuple(part.violation for part in parts if part.violation)

    @property
    def passed(self) -> bool:
        return not self.violations

    @property
    def epsilon(self) -> float | None:
        """The largest ε that is proven for an answer or for the weights; None without statistics."""
        return max((bound.epsilon for bound in self.lower_bounds), default=None)


def audit(subject: AuditSubject) -> Audit:
    """Audit a mechanism's claim on a geometry. A fit that claims no privacy, names a leak or overspends is refused.

    Where a replay fails, the weights can still be told apart: their lower bound says how much is lost.
    """
    settings = subject.settings
    example = _example(subject)
    claim = ClaimedPrivacy.of_fit(example)
    if any(isinstance(answer.noise, Procedure) and answer.noise.opaque for answer in example.tape or []):
        if settings.level == "replay":
            raise Refused(f"{subject.mechanism.name} runs an outside program, which only audit.level=release can try.")
        settings = replace(settings, level="release")
        replays, pairs = Replays(0, 1, 0.0, ""), fixed_and_random_pairs(subject.geometry, np.random.default_rng(settings.seed))
    else:
        replays, pairs = audit_replays(subject, example.tape or [])
    if replays.violation and settings.level != "replay":
        settings = replace(settings, level="replay" if settings.level == "component" else "release")
    laws = [] if replays.violation else check_plugin_laws(example.tape or [], subject)
    results: list[tuple[list[NoiseTest], list[EpsilonLowerBound]]] = []
    if settings.level != "replay":
        subject = replace(subject, settings=settings)
        pairs = join(ones_to_zeros(subject.geometry), pairs)
        try:
            for number in range(settings.pairs):
                results.append(audit_pair(replace(subject, pair=number), pairs.take(np.array([number])), claim))
        except Violation as violation:
            replays = replace(replays, violation=replays.violation or str(violation))
    noise_tests = (*laws, *(test for tests, _ in results for test in tests))
    lower_bounds = tuple(bound for _, bounds in results for bound in bounds)
    false_alarm = 1 - settings.confidence + LAW_FALSE_ALARM * bool(laws)
    return Audit(subject.geometry, claim, replays, noise_tests, lower_bounds, false_alarm)


def _example(subject: AuditSubject) -> Curator:
    """Fit once, and return the curator; refuse what makes no claim that an audit could try."""
    name = subject.mechanism.name
    try:
        example = subject.tape_fit()
    except Overspent as error:
        raise Refused(f"{name} overspends, so that no fit ends: {error}") from None
    if not example.ledger.total.private:
        raise Refused(f"{name} claims no privacy: there is nothing to audit.")
    for leak in example.ledger.leaks:
        if leak != UNPROVEN_NOISE:
            raise Refused(f"{name} on {subject.model.name} leaks {leak.what}: {leak.why}. No claim covers that.")
    return example


def audit_pair(subject: AuditSubject, pair: Pairs, claim: ClaimedPrivacy) -> tuple[list[NoiseTest], list[EpsilonLowerBound]]:
    """Run the statistical levels on one pair of tables: answer by answer (component), and end to end (release).

    Pairs, families of tests (noise, answers, weights) and answers share the false alarms equally.
    """
    settings, (origin,) = subject.settings, pair.origin
    (first,), (second,) = pair.tables(common_rows(subject.geometry, settings.rows - 1))
    families = {"component": 2, "release": 1}.get(settings.level, 3)
    false_alarm = (1 - settings.confidence) / settings.pairs / families
    tests: list[NoiseTest] = []
    bounds: list[EpsilonLowerBound] = []
    if settings.level != "release":
        transcript, _ = replay(subject, WholeSample(first), WholeSample(second))
        share = false_alarm / max(len(transcript), 1)
        for repeats in repeat_answers(transcript, subject, (first, second), settings.runs):
            tests += check_answer_noise(repeats, share, settings.seed)
            answer_claim = ClaimedPrivacy.of([repeats.answer.call.cost], subject.budget.delta)
            bounds.append(epsilon_lower_bound(answer_scores(repeats), answer_claim, share, repeats.answer.query, origin))
    if settings.level != "component":
        weights = [subject.repeat_fits(table, settings.runs, f"release, world {at}") for at, table in enumerate((first, second))]
        scores = black_box_scores(np.stack(weights), [f"weight of {name}" for name in subject.geometry.names])
        bounds.append(epsilon_lower_bound(scores, claim, false_alarm, "weights", origin))
    return tests, bounds
