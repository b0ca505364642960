"""The checks as tests of an author's own: all in one assertion, or each as a test case of pytest."""

from collections.abc import Callable
from typing import Any

from dpbench.registry.lookup import registry
from dpbench.testing.checks import LawCheck
from dpbench.testing.findings import LawOutcome
from dpbench.testing.kinds import checks_of_kind, kind_of
from dpbench.testing.running import check, run_checks


def assert_conforms(component: Any) -> None:
    """Raise an AssertionError that says what to do, unless the component keeps every law of its kind."""
    findings = check(component)
    assert findings.passed, "\n".join(findings.lines())


def conforms(kind: str, name: str) -> None:
    """Assert the same of what users find under this kind and name, as in ``conforms("mechanism", "shrunk")``."""
    assert_conforms(registry().get(kind, name))


def conformance(component: Any) -> Callable[[LawCheck], None]:
    """Return a test function for pytest with a test case for each check: ``test_shrunk = conformance(Shrunk)``."""
    import pytest

    outcomes: dict[str, LawOutcome] = {}  # of all checks, which the first test case runs: some depend on others

    @pytest.mark.parametrize("check", checks_of_kind(kind_of(component)), ids=lambda check: check.name)
    def test(check: LawCheck) -> None:
        if not outcomes:
            outcomes.update((outcome.check, outcome) for outcome in run_checks(component))
        finding = outcomes[check.name]
        if finding.state == "not applicable":
            pytest.skip(finding.text)
        if finding.state == "expected failure":
            pytest.xfail(finding.text)
        if finding.state == "failed":
            pytest.fail(f"{finding.law}\nFailed: {finding.text}\nTo do: {finding.advice}", pytrace=False)

    return test
