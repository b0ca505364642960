"""The result of an audit is one line of a file, and comes back from it."""

from __future__ import annotations

from dpbench.audit.result import AuditResult


def test_a_result_comes_back_from_its_line() -> None:
    results = [AuditResult(True, 1_000, seconds=0.5), AuditResult(False, 10, ("It moved.", "Too far."), 2.5)]
    results.append(AuditResult(None, 0, reason="It ended with ValueError.", mechanisms=("fm",), model="linear", code="c0de"))
    for result in results:
        line = result.as_line("abc")
        assert line.count("\n") == 1
        assert AuditResult.from_line(line) == ("abc", result)
    assert [result.sentence for result in results] == ["", "It moved.", "It ended with ValueError."]


def test_a_line_that_was_not_finished_is_no_result() -> None:
    whole = AuditResult(True, 10).as_line("abc")
    assert AuditResult.from_line(whole[:-5]) is None
    assert AuditResult.from_line("[]") is None
    assert AuditResult.from_line('{"digest": "abc", "passed": true}') is None
    assert AuditResult.from_line(whole.replace('"n"', '"m"')) is None
