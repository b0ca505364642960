"""One audit: the levels in order, with a share of the false alarms for each pair of tables, and the violations."""

from dataclasses import dataclass, replace

import numpy as np

from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound, epsilon_lower_bound
from dpbench.audit.neighbours import Pairs, common_rows, join, ones_to_zeros
from dpbench.audit.noise_goodness_of_fit import NoiseTest, check_answer_noise
from dpbench.audit.repeated_answers import repeat_answers
from dpbench.audit.replay_level import Replays, audit_replays, replay
from dpbench.audit.scores import Scores, answer_scores, append_learned_rule
from dpbench.audit.subject import AuditSubject, ClaimedPrivacy
from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry
from dpbench.data.samples import WholeSample
from dpbench.privacy.replay import Violation


@dataclass(frozen=True)
class Audit:
    """The outcome of an audit on one geometry."""

    geometry: Geometry
    claim: ClaimedPrivacy
    replays: Replays
    noise_tests: tuple[NoiseTest, ...] = ()
    lower_bounds: tuple[EpsilonLowerBound, ...] = ()

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
    """Audit a mechanism's claim on a geometry. A mechanism that claims no privacy is refused."""
    settings = subject.settings
    example = subject.tape_fit()
    claim = ClaimedPrivacy.of_fit(example)
    if not example.ledger.total.private:
        raise Refused(f"{subject.mechanism.name} claims no privacy: there is nothing to audit.")
    replays, pairs = audit_replays(subject, example.tape or [])
    results: list[tuple[list[NoiseTest], list[EpsilonLowerBound]]] = []
    if not replays.violation and settings.level != "replay":
        pairs = join(ones_to_zeros(subject.geometry), pairs)
        try:
            for number in range(settings.pairs):
                results.append(audit_pair(replace(subject, pair=number), pairs.take(np.array([number])), claim))
        except Violation as violation:
            replays = replace(replays, violation=str(violation))
    noise_tests = tuple(test for tests, _ in results for test in tests)
    return Audit(subject.geometry, claim, replays, noise_tests, tuple(bound for _, bounds in results for bound in bounds))


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
        scores = Scores(np.stack(weights), tuple(f"weight of {name}" for name in subject.geometry.names))
        bounds.append(epsilon_lower_bound(append_learned_rule(scores), claim, false_alarm, "weights", origin))
    return tests, bounds
