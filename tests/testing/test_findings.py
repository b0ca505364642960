"""Findings are lines for people and plain data for programs, and an expected failure is no failure."""

from __future__ import annotations

import json

from dpbench.testing.findings import Findings, LawOutcome

PASSED = LawOutcome("result", "A fit has weights.", "ok")
EXPECTED = LawOutcome("limit", "Noise vanishes.", "expected failure", "bins are coarse")
FAILED = LawOutcome("replay", "Bounds hold.", "failed", "An answer moved too far.", "Raise the bound.")


def test_each_check_is_one_line_and_a_failure_says_what_to_do() -> None:
    findings = Findings("mechanism", "mine", (PASSED, EXPECTED, FAILED), {})
    lines = list(findings.lines())
    assert [line.split()[-1] for line in lines[1:4]] == ["result", "coarse", "replay"]
    assert "  Failed: An answer moved too far." in lines
    assert "  To do: Raise the bound." in lines
    assert lines[-1] == "mine: 1 ok, 1 failed, 1 expected failure."


def test_expected_failures_pass_and_others_do_not() -> None:
    assert Findings("mechanism", "mine", (PASSED, EXPECTED), {}).passed
    assert not Findings("mechanism", "mine", (PASSED, FAILED), {}).passed


def test_they_are_plain_data() -> None:
    data = json.loads(json.dumps(Findings("mechanism", "mine", (PASSED,), {"a fit seconds": 0.1}).as_dict()))
    assert data["passed"] is True
    assert data["found"][0]["state"] == "ok"
