"""The subcommand ``verify``: one line per check, and an exit code that a script can use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpbench.__main__ import main

pytestmark = [pytest.mark.usefixtures("alone"), pytest.mark.slow]


def test_a_release_is_verified_and_a_forged_one_is_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    pytest.importorskip("dp_accounting")
    for mechanism in ("fm", "ssp"):
        assert main(["release", f"mechanism={mechanism}", "dataset=wine", "epsilon=1", "out=m.json", "overwrite=true"]) == 0
        assert "python -m dpbench verify m.json" in capsys.readouterr().out
        assert main(["verify", "m.json"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(maxsplit=1)[0] for line in lines] == ["ok"] * 10
        assert "the same code" in lines[-1]
    content = json.loads(Path("m.json").read_text())
    content["privacy"]["epsilon"] = 0.5
    Path("m.json").write_text(json.dumps(content))
    assert main(["verify", "m.json"]) == 1
    assert "FAILED  dp-accounting" in capsys.readouterr().out


def test_another_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("dp_accounting")
    (tmp_path / "m.json").write_text("{}")
    assert main(["verify", "m.json"]) == 2
    assert "format of the release" in capsys.readouterr().err
