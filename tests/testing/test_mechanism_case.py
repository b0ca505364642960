"""A mechanism is tried on one model for each kind of target that it supports, exact losses first."""

from __future__ import annotations

from dpbench.testing.mechanism_case import MechanismCase


def test_the_models_are_one_for_each_target(plain, make) -> None:
    assert [model.name for model in MechanismCase(plain()).models] == ["linear", "logistic"]
    assert [model.name for model in MechanismCase(make("mechanism", "cdp_irls")).models] == ["linear"]


def test_a_mechanism_says_whether_it_claims_privacy(plain, make) -> None:
    assert MechanismCase(plain()).claims_privacy
    assert not MechanismCase(make("mechanism", "no_privacy")).claims_privacy


def test_fits_depend_on_the_seed(plain) -> None:
    case = MechanismCase(plain())
    rows = next(iter(case.subjects)).tape_fit()
    assert rows.tape
