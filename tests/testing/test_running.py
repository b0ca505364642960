"""Checks run one by one: a needed one that fails ends the run, and expected failures must fail."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dpbench.testing import check
from dpbench.testing.checks import law
from dpbench.testing.kinds import case_of
from dpbench.testing.running import run_check


@pytest.mark.slow
def test_a_good_mechanism_passes_with_its_cost(plain) -> None:
    findings = check(plain)
    assert findings.passed, "\n".join(findings.lines())
    assert {finding.state for finding in findings.found} == {"ok", "not applicable"}
    assert findings.cost


def test_after_a_needed_check_the_others_do_not_run(plain) -> None:
    @dataclass(frozen=True)
    class Wrong(plain):
        """Take other arguments."""

        name = "wrong"

        def fit(self, x, y):
            return x @ y

    findings = check(Wrong)
    failed = [finding.check for finding in findings.failures]
    assert failed == ["docstring", "signature"]
    assert {finding.text for finding in findings.found if finding.state == "not applicable"} == {"'signature' failed"}


def test_a_failure_that_is_expected_passes_and_must_happen(plain) -> None:
    @dataclass(frozen=True)
    class Declared(plain):
        """Expect a failure."""

        name = "declared"
        expected_failures = {"broken": "on purpose", "kept": "on purpose"}  # noqa: RUF012

    @law("It holds.", "Nothing.")
    def broken(case: object) -> None:
        raise ValueError("no")

    @law("It holds.", "Nothing.")
    def kept(case: object) -> None:
        pass

    case = case_of(Declared)
    assert run_check(broken, case, Declared).state == "expected failure"
    finding = run_check(kept, case, Declared)
    assert (finding.state, finding.text) == ("failed", "It was expected to fail, but the law holds.")
