"""The subcommand ``ui``."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.__main__ import main
from dpbench.tracking import ui_server


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (None, "dpbench", 5000, False)),
        (["--uri", "sqlite:///a.db", "--port", "5001", "--browser"], ("sqlite:///a.db", "dpbench", 5001, True)),
    ],
)
def test_options_reach_the_server(monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: tuple[Any, ...]) -> None:
    calls = []
    monkeypatch.setattr(ui_server, "show", lambda *given, browser: calls.append((*given[:3], browser)))
    assert main(["ui", *arguments]) == 0
    assert calls == [expected]


def test_a_port_out_of_range_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--port", "70000"]) == 2
    assert "70000" in capsys.readouterr().err
