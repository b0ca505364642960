"""A whole audit: what keeps its claim passes, what does not fails, and false alarms are as rare as stated.

The statistics fail a mechanism that keeps its claim with a probability of at most 1 - confidence over the seed of each audit. The
seeds are fixed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpbench.audit import noise_goodness_of_fit, procedure
from dpbench.audit.neighbours import Pairs, ones_to_zeros
from dpbench.audit.procedure import audit, audit_pair
from dpbench.audit.subject import AuditSettings, AuditSubject, ClaimedPrivacy, example_geometry
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise, laplace
from dpbench.privacy.replay import Violation
from dpbench.registry.lookup import registry

REPETITIONS = 400
MAX_ALARMS = 13
"""P[Binomial(400, 0.01) > 13] = 6e-5."""


def test_none_of_our_mechanisms_is_left_out(cases) -> None:
    entries = registry().entries
    built_in = [entry for entry in entries if entry.plugin.distribution == "dp-regression-bench" and entry.health == "ok"]
    ours = {entry.name for entry in built_in if entry.kind == "mechanism"}
    assert ours == {name for name, _ in cases.SOUND} | cases.CLAIMLESS


def test_statistics_find_nothing_against_a_mechanism_that_keeps_its_claim(sound_case, cases, make, audited) -> None:
    """Each fails with a probability of at most 1e-4."""
    name, options = sound_case
    rows, one_column = cases.rows_for(options)
    shape = (2,) if name == "drop_sensitive" else (1,) if one_column else (2, 3)
    model = cases.OWN_MODEL.get(name, "linear")
    outcome = audited(make("mechanism", name, **options), model, shape, rows=rows, runs=1_000, confidence=0.9999)
    assert outcome.passed, outcome.violations
    assert bool(outcome.noise_tests) == (name not in cases.NOT_SUMS)
    assert {bound.output for bound in outcome.lower_bounds} > {"weights"}
    assert outcome.epsilon == max(bound.epsilon for bound in outcome.lower_bounds)


@pytest.mark.parametrize("name", ["no_privacy", "drop_sensitive"])
def test_a_mechanism_that_claims_nothing_is_refused(name, make, audited) -> None:
    with pytest.raises(Refused, match=f"{name} claims no privacy"):
        audited(make("mechanism", name))
    with pytest.raises(Refused, match="fm claims no privacy"):
        audited(make("mechanism", "fm", until_bounded=True, max_tries=3), shape=(1,))


def test_a_declared_leak_is_named_as_the_leak_that_it_is(make) -> None:
    model, budget = make("model", "ridge", penalty="cv"), Budget(1.0, 1e-6, "pure")
    subject = AuditSubject(make("mechanism", "fm"), model, budget, example_geometry(model, 2), AuditSettings())
    with pytest.raises(Refused, match="fm on ridge leaks penalty_by_cv: λ is chosen by cross-validation"):
        audit(subject)


def test_a_mechanism_that_overspends_is_refused_in_a_sentence(faults, audited) -> None:
    with pytest.raises(
        Refused, match=r"wrong_law overspends, so that no fit ends: The query 'objective' would bring the cost to"
    ):
        audited(faults.WrongLaw("Dear"))


def test_a_law_that_is_truncated_does_not_pass(faults, audited) -> None:
    """By the price of its own distribution function, by draws that do not follow another one, or as unproven."""
    tests = {"Truncated": "all draws together", "HonestlyTruncated": "the price that the law states"}
    for law, test in tests.items():
        outcome = audited(faults.WrongLaw(law), shape=(2,), level="component")
        assert {bad.test for bad in outcome.noise_tests if bad.violation} == {test}
    outcome = audited(faults.WrongLaw("Untestable"), shape=(1,), level="component")
    assert "largest absolute noise without table" in outcome.violations[0]


def test_where_a_replay_fails_the_weights_are_told_apart_all_the_same(faults, audited) -> None:
    class Thousandth(faults.Planted):
        noise = staticmethod(lambda query, epsilon: laplace(query.l1_bound("tight") / 1_000, epsilon, "wrong"))

    outcome = audited(Thousandth(), shape=(1,), runs=400)
    assert "times its declared L1 sensitivity" in outcome.violations[0]
    assert {bound.output for bound in outcome.lower_bounds} == {"weights"}
    assert outcome.epsilon > 1
    assert outcome.noise_tests == ()
    assert audited(Thousandth(), shape=(1,), level="component").lower_bounds == ()
    assert audited(faults.Peeking("crash"), runs=200).violations[0].startswith("On some tables the fit ends with")


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_published_wishart_noise_is_caught_by_statistics_alone(scaling, cases, make, audited) -> None:
    """The answer of a neighbour is impossible with probability 1 - exp(-ε'), whatever the dimension."""
    for options in [options for options in cases.PUBLISHED if options["composition"] != "advanced"]:
        mechanism = make("mechanism", "cdp_irls", **options)
        epsilon = 1.0 if options["composition"] == "conventional" else 0.1
        assert audited(mechanism, shape=(2, 0, scaling), epsilon=epsilon, level="replay").passed
        outcome = audited(mechanism, shape=(2, 0, scaling), epsilon=epsilon, level="component", runs=3_000, confidence=0.9999)
        assert [bound.output for bound in outcome.lower_bounds if bound.violation] == ["weighted_moments/matrix"], options
        assert "least eigenvalue" in outcome.violations[0]


def test_published_wishart_noise_is_caught_where_rows_are_weighted(make, audited) -> None:
    mechanism = make("mechanism", "cdp_irls", variant="published", iterations=2)
    outcome = audited(mechanism, "robust", (2,), 0.1, level="component")
    assert any("weighted_moments/matrix" in line for line in outcome.violations)


@pytest.mark.parametrize(
    ("law", "tests"),
    [
        ("InverseScale", {"all draws together", "a coefficient"}),
        ("Narrower", {"all draws together"}),
        ("Shared", {"a run's sum", "a correlation", "all draws together"}),
        ("Cheap", {"the price that the law states"}),
    ],
)
def test_noise_that_is_not_the_declared_one_is_caught_by_its_tests_alone(law, tests, faults, audited) -> None:
    """σ := μ, a scale that is 10 % short, one draw for all: no replay sees it, so every level tests the laws of plugins."""
    mechanism = faults.WrongLaw(law)
    outcome = audited(mechanism, level="replay")
    assert outcome.replays.violation == ""
    (test,) = outcome.noise_tests
    assert test.violation
    assert test.test in tests
    assert outcome.lower_bounds == ()
    outcome = audited(mechanism, level="component", runs=1_000, confidence=0.9999)
    assert any(test.violation and test.test in tests for test in outcome.noise_tests)
    assert not outcome.passed


@pytest.mark.parametrize("level", ["replay", "release"])
@pytest.mark.parametrize("law", ["Logistic", "PluginGeometric", "PluginLaplace"])
def test_a_plugin_s_law_that_is_what_it_says_passes_at_every_level(level, law, faults, audited) -> None:
    """Its draws are tested with a false alarm of 1e-6, on five seeds; the discrete one counts rows."""
    for seed in range(5 if level == "replay" else 1):
        outcome = audited(faults.HonestLaw(law), level=level, runs=200, seed=seed)
        assert outcome.passed, outcome.violations
        (test,) = outcome.noise_tests
        assert (test.draws, test.false_alarm) == (100_000, 1e-6)


def test_a_discrete_law_on_an_answer_with_fractions_does_not_pass(faults, audited) -> None:
    (violation,) = audited(faults.HonestLaw("PluginGeometric", fraction=0.5), level="replay").violations
    assert "it takes whole numbers only, and the exact answer is not one" in violation


def test_a_law_whose_code_fails_is_not_tested_and_one_of_joint_draws_has_no_proof(faults, audited) -> None:
    with pytest.raises(Refused, match="A law of honest_law cannot be tested: it ends with ZeroDivisionError"):
        audited(faults.HonestLaw("Broken"), level="replay")
    entry = Noise(faults.Joint(), np.array([1.0, 1.0]), 1.0, "exact").ledger_entry("sum")
    assert (entry.sound, entry.proof) == (False, "unproven: Joint draws its coefficients together. exact")


def test_the_tests_of_a_plugin_s_law_keep_their_false_alarms(faults, audited, make, monkeypatch) -> None:
    """400 times 200 draws at 1 %: at most 13 alarms, which a rate of 1 % exceeds with probability 6e-5."""
    monkeypatch.setattr(noise_goodness_of_fit, "LAW_FALSE_ALARM", 0.01)
    monkeypatch.setattr(noise_goodness_of_fit, "LAW_RUNS", 200)
    model = make("model", "linear")
    alarms, geometry = 0, example_geometry(model, 1)
    for seed in range(REPETITIONS):
        law = ("Logistic", "PluginGeometric")[seed % 2]
        subject = AuditSubject(faults.HonestLaw(law), model, Budget(1.0, 1e-6, "pure"), geometry, AuditSettings(seed=seed))
        (test,) = noise_goodness_of_fit.check_plugin_laws(subject.tape_fit().tape, subject)
        alarms += bool(test.violation)
    assert alarms <= MAX_ALARMS


def test_two_equal_tables_raise_an_alarm_one_time_in_a_hundred_at_most(make) -> None:
    """400 null audits, noise and answers and weights: at most 13 alarms, which a rate of 1 % exceeds with probability 6e-5."""
    assert stats.binom.sf(MAX_ALARMS, REPETITIONS, 0.01) < 1e-4
    model, alarms = make("model", "linear"), 0
    geometry = example_geometry(model, 1)
    row = ones_to_zeros(geometry).first
    for seed in range(REPETITIONS):
        settings = AuditSettings(runs=200, pairs=1, seed=seed, confidence=0.99)
        subject = AuditSubject(make("mechanism", "fm"), model, Budget(1.0, 1e-6, "pure"), geometry, settings)
        tests, bounds = audit_pair(subject, Pairs(row, row, ("null",)), ClaimedPrivacy(0.0, 0.0))
        alarms += any(test.violation for test in tests) or any(bound.epsilon > 0 for bound in bounds)
    assert alarms <= MAX_ALARMS


@pytest.mark.parametrize(("level", "families"), [("component", 2), ("release", 1), ("all", 3)])
def test_the_false_alarms_of_all_checks_add_up_to_what_the_confidence_leaves(level, families, make) -> None:
    """The tests of two answers' noise and their bounds share a family each, and the weights have one."""
    model, mechanism = make("model", "robust"), make("mechanism", "cdp_irls", iterations=2)
    geometry = example_geometry(model, 1)
    settings = AuditSettings(level=level, runs=200, pairs=4, confidence=0.96)
    subject = AuditSubject(mechanism, model, Budget(1.0, 1e-6, mechanism.counted()), geometry, settings)
    tests, bounds = audit_pair(subject, ones_to_zeros(geometry), ClaimedPrivacy(1.0, 0.0))
    calls = 0 if level == "release" else len(subject.tape_fit().tape)
    assert (len(tests), len(bounds)) == (calls, calls + (level != "component"))
    assert calls in (0, 2, 4)
    family = 0.04 / 4 / families
    shares_of_calls = [family / calls] * calls if calls else []
    shares = [1 - bound.confidence for bound in bounds]
    assert shares == pytest.approx(shares_of_calls + [family] * (level != "component"))
    assert [test.false_alarm for test in tests] == pytest.approx(shares_of_calls)
    assert sum(shares) + sum(test.false_alarm for test in tests) == pytest.approx(0.04 / 4)


def test_every_pair_has_its_own_streams_and_the_first_is_from_ones_to_zeros(make, audited) -> None:
    outcome = audited(make("mechanism", "fm"), shape=(1,), level="component", runs=200, pairs=3)
    first, second, third = outcome.lower_bounds
    assert (first.pair, second.pair, third.pair) == ("ones to zeros", "local search", "local search")
    assert len({test.p_value for test in outcome.noise_tests}) == 3, "other streams, other draws"


def test_a_violation_of_a_later_replay_is_kept_with_what_was_found_before(make, audited, monkeypatch) -> None:
    calls = []

    def fail_at_second_pair(subject, pair, claim):
        calls.append(subject.pair)
        if subject.pair == 1:
            raise Violation("The second pair shows it.")
        return audit_pair(subject, pair, claim)

    monkeypatch.setattr(procedure, "audit_pair", fail_at_second_pair)
    outcome = audited(make("mechanism", "fm"), shape=(1,), runs=200, pairs=3)
    assert calls == [0, 1]
    assert outcome.violations == ("The second pair shows it.",)
    assert len(outcome.lower_bounds) == 2
    assert not outcome.passed
    assert replace(outcome, replays=replace(outcome.replays, violation="")).passed
