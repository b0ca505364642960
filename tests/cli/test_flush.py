"""The subcommand ``flush``: what it delivers is tested in tests/sweeps; here is what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.sweeps.engines.unit_folder import UnitFolder


def test_a_folder_in_which_no_sweep_waits_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    UnitFolder(tmp_path / "units", create=True)
    assert main(["flush", str(tmp_path / "units")]) == 0
    assert capsys.readouterr().out == f"No sweep waits for results in {tmp_path / 'units'}.\n"


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["a", "tracking.experiment=x"]])
def test_one_folder_is_flushed_at_a_time(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flush", *arguments]) == 2
    assert "One folder is flushed at a time" in capsys.readouterr().err


def test_what_is_no_folder_of_units_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flush", str(tmp_path)]) == 2
    assert "is no folder of unit files" in capsys.readouterr().err
