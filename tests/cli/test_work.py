"""The subcommand ``work``: a folder that is none is refused, and an empty one is no work."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.cells.time_limit import ends_process
from dpbench.sweeps.engines.unit_folder import UnitFolder


@pytest.fixture(autouse=True)
def _this_process_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends_process, "set", lambda: None)


def test_an_empty_folder_is_no_work(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    UnitFolder(tmp_path / "units", create=True)
    assert main(["work", "units", "--until-empty"]) == 0
    assert capsys.readouterr() == ("0 units of units finished.\n", "")


def test_what_is_no_folder_of_units_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["work", str(tmp_path)]) == 2
    assert "is no folder of unit files: a sweep with engine=files engine.folder=… makes one." in capsys.readouterr().err
