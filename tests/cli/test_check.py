"""`check` prints one line per check, what to do about failures, and plain data for programs."""

from __future__ import annotations

import json

import pytest

from dpbench.__main__ import main

Capture = pytest.CaptureFixture[str]


def test_a_component_is_checked_line_by_line(capsys: Capture) -> None:
    assert main(["check", "rmse"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "metric rmse"
    assert "  ok                direction" in lines
    assert lines[-1].startswith("rmse: ")


def test_plain_data_has_every_check(capsys: Capture) -> None:
    assert main(["check", "metric=rmse", "--json"]) == 0
    (findings,) = json.loads(capsys.readouterr().out)
    assert (findings["kind"], findings["name"], findings["passed"]) == ("metric", "rmse", True)
    assert {"check", "law", "state", "text", "advice", "seconds"} == set(findings["found"][0])


def test_all_that_a_plugin_offers_is_checked(capsys: Capture) -> None:
    assert main(["check", "comparison_metrics"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("metric ")] == [
        "metric ols_se",
        "metric share_lost",
    ]


def test_an_unknown_name_is_refused(capsys: Capture) -> None:
    assert main(["check", "rmsee"]) == 2
    assert "There is no component or plugin named 'rmsee'. Did you mean" in capsys.readouterr().err


def test_a_plugin_that_does_not_load_fails_with_the_reason(drop_in, capsys: Capture) -> None:
    drop_in("raise ValueError('half a page')\n")
    assert main(["check", "dropped_in"]) == 1
    out = capsys.readouterr().out
    assert "Failed: ValueError: half a page" in out
    assert "To do: " in out
