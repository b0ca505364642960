"""One audit: the levels in order, the false alarms shared out among them, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpbench.audit.certificate import Certificate, ClaimedPrivacy
from dpbench.audit.neighbours import Pairs, joined, ones_to_zeros
from dpbench.audit.noise_tests import NoiseTest
from dpbench.audit.repeated_calls import components
from dpbench.audit.replays import AuditSubject, Replayed, grey_box, transcript
from dpbench.audit.samples import Tables
from dpbench.audit.settings import AuditSettings
from dpbench.audit.statistical import answer_certificate, answer_fit, claimed, release_certificate
from dpbench.base.errors import Refused
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry
from dpbench.privacy.ledger import Budget
from dpbench.privacy.replay import Violation


@dataclass(frozen=True)
class Audit:
    """What was found on one geometry."""

    geometry: Geometry
    claim: ClaimedPrivacy
    replayed: Replayed | None = None
    fits: tuple[NoiseTest, ...] = ()
    certificates: tuple[Certificate, ...] = ()

    @property
    def violations(self) -> tuple[str, ...]:
        return tuple(self._violations())

    @property
    def passed(self) -> bool:
        return not self.violations

    @property
    def epsilon(self) -> float | None:
        """The largest ε that is proven of anything the ledger pays for; None without statistics."""
        return max((one.epsilon for one in self.certificates), default=None)

    def joined(self, other: Audit) -> Audit:
        """This and what was found besides."""
        return replace(self, fits=self.fits + other.fits, certificates=self.certificates + other.certificates)

    def _violations(self) -> Iterator[str]:
        if self.replayed is not None and self.replayed.violated:
            yield self.replayed.violation
        for fit in self.fits:
            if fit.violated:
                yield f"The noise of {fit.what!r} is not the {fit.law} noise declared: {fit.test}, p = {fit.p_value:.2g}."
        for one in self.certificates:
            if one.violated:
                unit, found, claimed = ("ε", one.epsilon, one.claim.epsilon)
                if one.mu is not None and one.claim.mu is not None:
                    unit, found, claimed = ("μ", one.mu, one.claim.mu)
                yield (
                    f"The {'weights have' if one.what == 'weights' else f'answer {one.what!r} has'} {unit} >= {found:.3g} where "
                    f"{claimed:.3g} is claimed (confidence {one.confidence:.6g}, {one.runs:,} runs a world, {one.pair} pair, "
                    f"{one.score})."
                )


def audit(mechanism: Mechanism, model: Model, budget: Budget, geometry: Geometry, plan: AuditSettings | None = None) -> Audit:
    """Try a mechanism's claim on a geometry. What makes no claim is refused."""
    plan = plan or AuditSettings()
    subject = AuditSubject(mechanism, model, budget, geometry, plan.rows, plan.seed)
    claim = claimed(subject)
    if not claim.private:
        raise Refused(f"{mechanism.name} claims no privacy: there is nothing to audit.")
    replayed, pairs = grey_box(subject)
    found = Audit(geometry, claim, replayed)
    if replayed.violated or plan.level == "replay":
        return found
    chosen = joined(ones_to_zeros(geometry), pairs)
    try:
        for at in range(plan.pairs):
            found = found.joined(at_pair(replace(subject, pair=at), chosen.take(np.array([at])), claim, plan))
    except Violation as violation:
        return replace(found, replayed=replace(replayed, violation=str(violation)))
    return found


def at_pair(subject: AuditSubject, pair: Pairs, claim: ClaimedPrivacy, plan: AuditSettings) -> Audit:
    """The statistics of one pair of tables, at its share of the false alarms: equal ones for pairs, families and answers."""
    ((first,), (second,)), (origin,) = pair.tables(subject.filling), pair.origin
    families = 2 * (plan.level != "release") + (plan.level != "component")
    share = (1 - plan.confidence) / plan.pairs / families
    fits: list[NoiseTest] = []
    certificates: list[Certificate] = []
    if plan.level != "release":
        told = transcript(subject, Tables([first]), Tables([second]))
        each = share / max(len(told.first), 1)
        for again in components(told, subject, (first, second), plan.runs):
            fitted = answer_fit(again, each, plan.seed)
            fits += [fitted] if fitted is not None else []
            certificates.append(answer_certificate(again, subject.budget.delta, each, origin))
    if plan.level != "component":
        certificates.append(release_certificate(subject, (first, second), claim, plan.runs, share, origin))
    return Audit(subject.geometry, claim, None, tuple(fits), tuple(certificates))
