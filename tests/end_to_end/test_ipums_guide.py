"""What the guide says about an IPUMS extract works in its order, on a generated extract."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dpbench.__main__ import main

PAGE = Path(__file__).parents[2] / "docs" / "data.md"


def test_the_commands_of_the_guide_run_once_the_bounds_are_filled_in(
    cps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")
    monkeypatch.chdir(tmp_path)
    cps.write(cps.rows(200), "cps_00001")
    section = PAGE.read_text(encoding="utf-8").partition("### I have an IPUMS CPS extract\n")[2].partition("\n#")[0]
    describe, sweep = re.findall(r"^python -m dpbench (.*)$", section, re.MULTILINE)
    assert main(shlex.split(describe)) == 0
    assert main(shlex.split(sweep)) == 2
    assert "'INCTOT' are open" in capsys.readouterr().err
    (line,) = re.findall(r"^  INCTOT: .*$", section, re.MULTILINE)
    draft = re.sub(r"^  INCTOT: .*$", line, (tmp_path / "cps.yaml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    draft = re.sub(r"\{low: , high: [^}]*\}", "ignore", draft)
    (tmp_path / "cps.yaml").write_text(draft, encoding="utf-8")
    assert main([*shlex.split(sweep), "splits.repeats=2"]) == 0, capsys.readouterr().err
