"""Every planted fault is caught, at the level that can see it."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused


def test_a_quarter_of_the_sensitivity_is_caught_by_a_replay(faults, audited) -> None:  # type: ignore[no-untyped-def]
    for model in ("linear", "logistic"):
        found = audited(faults.QuarterOfTheSensitivity(), model, (2,), level="replay")
        assert any("times its declared L1 sensitivity" in line for line in found.violations)
        assert found.violations[0].split("moved by ")[1].startswith("4 times")


def test_a_diagonal_without_noise_is_caught_by_a_replay(faults, audited) -> None:  # type: ignore[no-untyped-def]
    found = audited(faults.ExactDiagonal(), level="replay")
    assert any("times its declared L1 sensitivity" in line for line in found.violations)


@pytest.mark.parametrize(
    ("law", "test"),
    [
        ("InverseScale", "all draws together|a coefficient"),
        ("Narrower", "all draws together"),
        ("Shared", "a run's sum|a correlation|all draws together"),
        ("Cheap", "the price that the law states"),
    ],
)
def test_noise_that_is_not_the_declared_one_is_caught_by_its_fit_alone(law, test, faults, audited) -> None:  # type: ignore[no-untyped-def]
    """σ := μ, a scale that is 10 % short, one draw for all: a replay sees none of it."""
    mechanism = faults.WrongLaw(law)
    assert audited(mechanism, level="replay").passed
    found = audited(mechanism, level="component", runs=1_000, confidence=0.9999)
    assert any(fit.violated and fit.test in test.split("|") for fit in found.fits)
    assert not found.passed


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_published_wishart_noise_is_caught_by_statistics_alone(scaling, cases, make, audited) -> None:  # type: ignore[no-untyped-def]
    """The answer of a neighbour is impossible with probability 1 - exp(-ε'), whatever the dimension."""
    for options in [options for options in cases.PUBLISHED if options["composition"] != "advanced"]:
        mechanism = make("mechanism", "cdp_irls", **options)
        epsilon = 1.0 if options["composition"] == "conventional" else 0.1
        assert audited(mechanism, shape=(2, 0, scaling), epsilon=epsilon, level="replay").passed
        found = audited(mechanism, shape=(2, 0, scaling), epsilon=epsilon, level="component", runs=3_000, confidence=0.9999)
        assert [one.what for one in found.certificates if one.violated] == ["weighted_moments/matrix"], options
        assert "least eigenvalue" in found.violations[0]


def test_published_wishart_noise_is_caught_where_rows_are_weighted(make, audited) -> None:  # type: ignore[no-untyped-def]
    found = audited(make("mechanism", "cdp_irls", variant="published", iterations=2), "robust", (2,), 0.1, level="component")
    assert any("weighted_moments/matrix" in line for line in found.violations)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("more", "control flow"),
        ("scale", "control flow"),
        ("crash", "ends with ArithmeticError"),
        ("weights", "weights are others"),
    ],
)
def test_whatever_depends_on_the_rows_beside_the_answers_is_caught(what, words, faults, audited) -> None:  # type: ignore[no-untyped-def]
    found = audited(faults.Peeking(what), level="replay")
    assert any(words in line for line in found.violations)


def test_a_run_among_many_that_asks_more_is_caught(faults, audited) -> None:  # type: ignore[no-untyped-def]
    assert any("control flow" in line for line in audited(faults.OneRunPeeking(), level="replay").violations)


def test_a_ledger_that_was_tampered_with_is_caught(faults, audited) -> None:  # type: ignore[no-untyped-def]
    assert audited(faults.HiddenSpending(), level="replay").violations == ("The ledger is not that of the calls that were made.",)


def test_a_penalty_that_is_chosen_on_the_rows_is_seen(make) -> None:  # type: ignore[no-untyped-def]
    """A declared leak: what it leaks shows in a replay."""
    from dpbench.audit.auditing import audit
    from dpbench.audit.example_geometries import geometry
    from dpbench.audit.settings import AuditSettings
    from dpbench.privacy.ledger import Budget

    model = make("model", "ridge", penalty="cv")
    found = audit(
        make("mechanism", "fm"), model, Budget(1.0, 1e-6, "pure"), geometry(model, 2), AuditSettings(level="replay", rows=3)
    )
    assert any("weights are others" in line for line in found.violations)


@pytest.mark.parametrize("name", ["no_privacy", "drop_sensitive"])
def test_what_claims_nothing_is_refused(name, make, audited) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Refused, match=f"{name} claims no privacy"):
        audited(make("mechanism", name))
    with pytest.raises(Refused, match="fm claims no privacy"):
        audited(make("mechanism", "fm", until_bounded=True, max_tries=3), shape=(1,))
