"""The report names each level's outcome, the answer that comes nearest to its claim, and every violation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound
from dpbench.audit.noise_goodness_of_fit import NoiseTest
from dpbench.audit.procedure import Audit
from dpbench.audit.replay_level import Replays
from dpbench.audit.subject import ClaimedPrivacy
from dpbench.audit.wording import describe_audit, describe_false_alarms


def bound(
    output: str, epsilon: float, claim: float, mu: float | None = None, claimed_mu: float | None = None
) -> EpsilonLowerBound:
    return EpsilonLowerBound(output, "corners", "x > 1", 5_000, 0.995, epsilon, mu, ClaimedPrivacy(claim, 1e-6, claimed_mu))


@pytest.fixture
def passed(geometry) -> Audit:
    """An audit that found nothing, with two answers, two noise tests and the weights."""
    return Audit(
        geometry(2, (3,), intercept=True),
        ClaimedPrivacy(1.0, 0.0),
        Replays(40, 2, 0.875, "local search"),
        (
            NoiseTest("sum", "laplace", 1_000, 0.5, "a run's sum", 1e-3),
            NoiseTest("sum", "gaussian", 500, 0.25, "a correlation", 1e-3),
        ),
        (bound("large", 0.9, 2.0), bound("near", 0.3, 0.4), bound("weights", 0.1, 1.0, 0.2, 0.5)),
    )


def test_an_audit_that_passed_is_described_level_by_level(passed) -> None:
    title, replays, noise, answers, weights = describe_audit(passed)
    assert title == "2 numeric columns and 1 one-hot group, box, an intercept, D = 6: passed"
    for text in ("2 answers a fit", "40 pairs", "at most 0.8750", "local search"):
        assert text in replays
    for text in ("1,500 draws of laplace and gaussian noise", "least p = 0.25 (a correlation)"):
        assert text in noise
    assert "ε ≥ 0.300 of 0.400 claimed at δ = 1e-06 for 'near': confidence 99.5 %" in answers
    for text in ("release", "ε ≥ 0.100", "μ ≥ 0.200 of 0.500", "corners", "x > 1", "5,000 runs"):
        assert text in weights


def test_what_was_not_tried_is_not_described(passed) -> None:
    assert len(list(describe_audit(replace(passed, noise_tests=(), lower_bounds=())))) == 2
    single = replace(passed.replays, calls=1)
    assert "1 answer a fit" in list(describe_audit(replace(passed, replays=single)))[1]


def test_the_false_alarms_of_all_audits_are_added_up(passed) -> None:
    audits = [replace(passed, false_alarm=1e-4)] * 3
    assert describe_false_alarms(audits).endswith(
        "any of the 3 audits of a mechanism that keeps its claim with a probability of at most 0.0003."
    )
    assert "the audit of" in describe_false_alarms(audits[:1])
    assert describe_false_alarms([replace(passed, lower_bounds=())]) == "", "replays are not random"


def test_a_replay_that_failed_is_not_given_a_move(passed) -> None:
    failed = replace(passed, replays=replace(passed.replays, ratio=0.0, violation="It moved."))
    line = list(describe_audit(failed))[1]
    assert line.endswith("40 pairs of neighbours: FAILED")
    assert "moved by" not in line


def test_every_violation_has_a_line(passed) -> None:
    failed = replace(passed, replays=replace(passed.replays, violation="It moved."), lower_bounds=(bound("sum", 3.0, 1.0),))
    lines = list(describe_audit(failed))
    assert lines[0].endswith("FAILED")
    assert [line for line in lines if "VIOLATION" in line] == ["  VIOLATION  It moved.", f"  VIOLATION  {failed.violations[1]}"]
