"""``audit.level`` in a sweep: the record says whether the audit passed, and a cell that failed it is not ranked."""

from __future__ import annotations

from typing import Any

import pytest

import dpbench
from dpbench.audit.subject import AuditSettings
from dpbench.base.errors import Refused
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import run_unit
from dpbench.cells.work_unit import Unit
from dpbench.data.splits import Splits
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import Provenance

SMALL: dict[str, Any] = {"dataset": "gaussian", "dataset.n": 60, "dataset.d": 2, "splits.repeats": 2, "splits.folds": 2}


def make_cell(make: Any, mechanism: str, level: Any, **options: Any) -> Cell:
    built = {
        "mechanism": make("mechanism", mechanism, **options),
        "model": make("model", "linear"),
        "dataset": make("dataset", "gaussian", n=60, d=2),
        "attack": make("attack", "none"),
    }
    choices = [ComponentChoice(component.name, component.options()) for component in built.values()]
    return Cell(*choices, Splits("kfold", 2, 2), Settings(epsilon=0.1), {}, AuditSettings(level, runs=2_000))


def record(cell: Cell) -> CellRecord:
    parts = [part for repeat in (0, 1) for part in run_unit(Unit((cell,), (repeat,)))]
    assert not any(part.error for part in parts)
    return record_of(cell, parts, {}, Provenance(True, 0, "", "", ""), "rmse")


def test_a_cell_that_failed_its_audit_is_not_sound_and_says_why(make) -> None:
    failed = record(make_cell(make, "cdp_irls", "component", variant="published"))
    assert failed.tags["dpbench.audit"] == "failed"
    assert failed.tags["dpbench.sound"] == "false"
    assert failed.metrics["privacy/epsilon_audited"] > failed.metrics["privacy/epsilon_accounted"]
    assert "weighted_moments/matrix" in failed.detail.ledger["audit"]["violations"][0]
    assert failed.guarantee == "AUDIT FAILED"
    assert not failed.ranked


def test_a_fault_that_calls_itself_sound_leaves_the_rankings(make, monkeypatch) -> None:
    """A quarter of the sensitivity, with a proof that says otherwise: only the audit knows."""
    from dpbench.privacy.queries.polynomial import Polynomial

    whole = Polynomial.l1_bound
    monkeypatch.setattr(Polynomial, "l1_bound", lambda *arguments: whole(*arguments) / 4)
    unaudited, audited = (record(make_cell(make, "fm", level, sensitivity="tight")) for level in ("none", "replay"))
    assert (unaudited.tags["dpbench.sound"], audited.tags["dpbench.sound"]) == ("true", "false")
    assert "dpbench.audit" not in unaudited.tags
    assert "privacy/epsilon_audited" not in audited.metrics, "a replay proves no ε"


def test_a_cell_that_passed_is_as_sound_as_its_ledger(make) -> None:
    passed = record(make_cell(make, "fm", "all"))
    assert (passed.tags["dpbench.audit"], passed.tags["dpbench.sound"]) == ("passed", "true")
    assert 0 <= passed.metrics["privacy/epsilon_audited"] <= 0.1
    assert passed.detail.ledger["audit"] == {"passed": True, "violations": []}
    assert "dpbench.audit" not in record(make_cell(make, "no_privacy", "all")).tags, "nothing is claimed"


def test_an_audit_is_part_of_the_key_and_its_absence_is_not(make) -> None:
    without, audited = make_cell(make, "fm", "none"), make_cell(make, "fm", "replay")
    assert "audit" not in without.config
    assert audited.config["audit"]["level"] == "replay"
    assert without.key != audited.key
    assert (without.shared, without.fit) == (audited.shared, audited.fit)


def test_levels_are_swept_like_any_key() -> None:
    frame = dpbench.sweep(SMALL, mechanism="fm", **{"audit.level": ["none", "replay"]}, record=False)
    assert frame["dpbench.audit"].tolist()[1] == "passed"
    assert frame["dpbench.audit"].isna().tolist() == [True, False]
    with pytest.raises(Refused, match="'level' option of the audit must be one of 'none', 'replay'"):
        dpbench.sweep(SMALL, mechanism="fm", **{"audit.level": "some"}, record=False)
    with pytest.raises(Refused, match="Did you mean level"):
        dpbench.sweep(SMALL, mechanism="fm", **{"audit.levle": "all"}, record=False)
