"""``python -m dpbench audit``: its report, its refusals and its exit codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpbench.__main__ import main

RunAudit = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_audit(capsys: pytest.CaptureFixture[str]) -> RunAudit:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["audit", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_mechanism_that_keeps_its_claim_passes(run_audit: RunAudit) -> None:
    code, out, _ = run_audit("mechanism=fm", "mechanism.sensitivity=tight", "audit.runs=400", "audit.confidence=0.9999")
    assert code == 0
    for line in ("fm on linear at ε = 1", "replay", "noise", "answers", "release", "moved by at most 1.0000", "Passed."):
        assert line in out
    assert "proves nothing" in out


def test_a_false_claim_ends_with_exit_code_one(run_audit: RunAudit) -> None:
    code, out, _ = run_audit("mechanism=cdp_irls", "mechanism.variant=published", "epsilon=0.1", "audit.level=component")
    assert code == 1
    assert "VIOLATION" in out
    assert "FAILED on 4 of them. The statistics fail any of the 4 audits" in out
    assert "with a probability of at most 0.0004." in out


def test_a_dataset_lends_its_geometry(run_audit: RunAudit) -> None:
    code, out, _ = run_audit("mechanism=fm,dpba", "dataset=wine", "audit.level=replay")
    assert code == 0
    assert out.count("11 numeric columns, box, an intercept, D = 12: passed") == 2


def test_the_corner_is_audited_where_there_is_no_intercept(run_audit: RunAudit) -> None:
    wine = ("mechanism=fm,dpba", "mechanism.sensitivity=tight", "dataset=wine", "dataset.scaling=corner", "audit.level=replay")
    code, out, _ = run_audit(*wine, "model.intercept=true,false")
    assert code == 0
    assert out.count("11 numeric columns, corner, no intercept, D = 11: passed") == 2
    assert out.count("moved by at most 1.0000 of what is declared") == 2, "the supremum is met"
    assert "Not audited: wine: With dataset.scaling=corner there is no intercept: set model.intercept=false." in out
    code, _, err = run_audit(*wine)
    assert code == 2
    assert err.strip() == "With dataset.scaling=corner there is no intercept: set model.intercept=false."


def test_what_is_not_supported_is_said(run_audit: RunAudit) -> None:
    code, out, _ = run_audit("mechanism=fp", "audit.level=replay")
    assert code == 0
    assert "Not audited: 1 numeric column, ball" in out


def test_a_mechanism_whose_fit_fails_is_refused_in_a_sentence_that_says_where(run_audit: RunAudit, drop_in: Any) -> None:
    drop_in("""
        from dataclasses import dataclass

        from dpbench import Mechanism, hookimpl

        @dataclass(frozen=True)
        class Careless(Mechanism):
            '''Fails.'''

            name = "careless"
            guarantee = "ε-DP"

            def fit(self, curator, problem, budget):
                return 1 / 0

        @hookimpl
        def dpbench_mechanisms():
            return [Careless]
    """)
    code, out, err = run_audit("mechanism=careless", "audit.level=replay")
    assert (code, err.count("\n")) == (2, 1)
    assert "Traceback" not in out + err
    assert err.startswith("careless on linear cannot be audited, because its fit on made-up rows failed. ZeroDivisionError")
    assert "dropped_in.py:14 in fit" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "must say what is audited"),
        (["mechanism=fmm"], "Did you mean fm?"),
        (["mechanism=fm", "model=robust"], "the model provides no polynomial"),
        (["mechanism=no_privacy"], "claims no privacy"),
        (["mechanism=fm", "model=ridge", "model.penalty=cv"], "fm on ridge leaks penalty_by_cv"),
        (["mechanism=fm", "audit.level=some"], "must be one of 'none', 'replay', 'component', 'release', 'all'"),
        (["mechanism=fm", "audit.level=none"], "audits nothing"),
        (["mechanism=fm", "audit.runs=3"], "[200, inf)"),
        (["mechanism=fm", "audit.runs=300,400"], "several values"),
        (["mechanism=fm", "audit.levle=all"], "Did you mean level?"),
        (["mechanism=fm", "splits.repeats=3"], "no key of audit named 'splits.repeats'"),
        (["mechanism=fm", "epsilon=-1"], "(0, inf)"),
    ],
)
def test_a_bad_request_is_refused_in_a_sentence(arguments: list[str], words: str, run_audit: RunAudit) -> None:
    code, out, err = run_audit(*arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
    assert "Traceback" not in out + err
