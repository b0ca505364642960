"""An audit unit is named by what its audit depends on, and an audit that cannot be done says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dpbench.audit.result import AuditResult
from dpbench.audit.subject import AuditSettings, example_geometry
from dpbench.cells.audit_unit import AuditUnit, run_audit, size_class, vouched
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.data.splits import Splits
from dpbench.records.cell_tags import Standing
from dpbench.records.leaks import Leak

PROVEN = Standing("simulation", proven=True, private=True)


@pytest.fixture
def unit(make: Any) -> Any:
    def built(mechanism: str = "fm", model: str = "linear", level: Any = "replay", **options: Any) -> AuditUnit:
        components = [
            make("mechanism", mechanism, **options),
            make("model", model),
            make("dataset", "wine"),
            make("attack", "none"),
        ]
        choices = [ComponentChoice(component.name, component.options()) for component in components]
        audit = AuditSettings(level, runs=500, pairs=1)
        cell = Cell(*choices, Splits("kfold", 2, 2), Settings(epsilon=0.5), {}, audit)
        return AuditUnit(cell, example_geometry(components[1], 2), 2_000, "wine []", "code")

    return built


def test_cells_that_differ_in_nothing_that_an_audit_sees_share_one(unit: Any) -> None:
    first = unit()
    more = replace(first.cell, splits=Splits("kfold", 9, 2), versions={"data": "other"})
    assert replace(first, cell=more).digest == first.digest
    assert replace(first, n=9_999).digest == first.digest, "the same power of ten"


def test_whatever_decides_an_audit_is_part_of_its_digest(unit: Any) -> None:
    first = unit()
    settings = first.cell.settings
    others = [
        unit(ridge=3.0),
        unit(model="logistic"),
        unit("dpba"),
        replace(first, n=10_000),
        replace(first, code="edited"),
        replace(first, identity="other rows"),
        replace(first, geometry=replace(first.geometry, scaling="ball")),
        *(
            replace(first, cell=replace(first.cell, settings=replace(settings, **change)))
            for change in ({"epsilon": 1.0}, {"delta": 1e-5}, {"budget": "matched"}, {"seed": 1})
        ),
        replace(first, cell=replace(first.cell, audit=AuditSettings("all"))),
    ]
    assert len({other.digest for other in [first, *others]}) == len(others) + 1
    matched = replace(first, cell=replace(first.cell, settings=replace(settings, budget="matched")))
    assert replace(matched, n=2_001).digest != matched.digest, "the budget is searched with as many rows"


def test_a_size_class_is_the_power_of_ten_below() -> None:
    assert [size_class(n) for n in (2, 10, 99, 100, 4_898, 370_000, 10**7)] == [1, 10, 10, 100, 1_000, 100_000, 100_000]


def test_an_honest_mechanism_passes_and_statistics_prove_an_epsilon(unit: Any) -> None:
    result = run_audit(unit())
    assert (result.passed, result.violations, result.epsilon, result.n) == (True, (), None, 1_000)
    assert result.seconds > 0
    statistics = run_audit(unit(level="component"))
    assert statistics.passed
    assert statistics.epsilon is not None
    assert 0 <= statistics.epsilon <= 0.5


def test_a_sensitivity_that_is_too_small_fails(unit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpbench.privacy.queries.polynomial import Polynomial

    whole = Polynomial.l1_bound
    monkeypatch.setattr(Polynomial, "l1_bound", lambda *arguments: whole(*arguments) / 4)
    result = run_audit(unit(sensitivity="tight"))
    assert result.passed is False
    assert result.sentence == result.violations[0]


def test_an_audit_that_cannot_be_done_says_why_and_quotes_nothing(unit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_audit(unit("no_privacy")).reason == "no_privacy claims no privacy: there is nothing to audit."
    monkeypatch.setattr("dpbench.cells.audit_unit.AuditSubject", lambda *_, **__: 1 / 0)
    result = run_audit(unit())
    assert (result.passed, result.reason) == (None, "On made-up tables the fit ends with ZeroDivisionError.")


def test_a_declared_leak_is_no_false_claim(unit: Any, make: Any) -> None:
    """λ by cross-validation depends on the rows: a replay would find other weights, and call the mechanism refuted."""
    leaky = unit(model="ridge")
    model = ComponentChoice("ridge", {**leaky.cell.model.options, "penalty": "cv"})
    result = run_audit(replace(leaky, cell=replace(leaky.cell, model=model)))
    assert result.passed is None
    assert "leaks penalty_by_cv" in result.reason


def test_an_audit_decides_between_sound_and_refuted_and_says_at_which_size() -> None:
    passed, small = (vouched(PROVEN, AuditResult(True, n), 4_898) for n in (1_000, 8))
    assert (passed.guarantee, passed.why, passed.replayed_n) == ("sound", "", 0)
    assert (small.guarantee, small.replayed_n) == ("sound", 8)
    failed = vouched(PROVEN, AuditResult(False, 8, ("It moved.",)), 4_898)
    assert (failed.guarantee, failed.why, failed.replayed_n) == ("refuted", "It moved.", 0)


def test_without_a_result_a_proof_is_claimed_and_says_why() -> None:
    assert vouched(PROVEN, None, 10).why == "Not replayed: audit.level=none."
    undone = vouched(PROVEN, AuditResult(None, 0, reason="It ended."), 10)
    assert (undone.guarantee, undone.why) == ("claimed", "Not replayed: It ended.")
    leaky = replace(PROVEN, leaks=(Leak("cv", "read"),))
    assert vouched(leaky, AuditResult(None, 0, reason="It leaks cv."), 10) == leaky
