"""The command ``ui`` refuses what it cannot show, and passes on what the user chose."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dpbench.base.errors import Refused
from dpbench.cli.ui import command
from dpbench.tracking import ui_server


def test_a_store_without_runs_is_refused_with_the_way_to_make_some(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["--uri", f"sqlite:///{tmp_path}/mlflow.db"])
    assert isinstance(result.exception, Refused)
    assert "A first sweep creates them: python -m dpbench" in str(result.exception)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("port", ["0", "65536"])
def test_a_port_that_no_server_can_have_is_refused(port: str) -> None:
    result = CliRunner().invoke(command, ["--port", port])
    assert result.exit_code == 2
    assert "is not in the range 1<=x<=65535" in result.output


def test_by_default_it_shows_the_experiment_dpbench_on_port_5000_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def show(uri: str | None, experiment: str, port: int, say: object, *, browser: bool) -> None:
        calls.append((uri, experiment, port, browser))

    monkeypatch.setattr(ui_server, "show", show)
    assert CliRunner().invoke(command, []).exit_code == 0
    assert CliRunner().invoke(command, ["--experiment", "mine", "--port", "80", "--browser"]).exit_code == 0
    assert calls == [(None, "dpbench", 5000, False), (None, "mine", 80, True)]
