"""--profile says where the seconds of a sweep went, on stderr, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.base import phases
from dpbench.sweeps.profile import profile_text

SWEEP = ["-m", "dataset=wine", "mechanism=fm,dpba", "splits.repeats=2", "attack=membership", "audit.level=replay"]


@pytest.fixture
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(phases.clock, "_seconds", {})


def seconds_of(text: str) -> dict[str, float]:
    """Return the rows of the table."""
    _, *rows = text[text.index("Seconds of processor time") :].splitlines()
    return {row[:12].strip(): float(row[12:]) for row in rows if row.startswith("  ")}


@pytest.mark.usefixtures("_in_an_empty_folder")
@pytest.mark.parametrize("engine", ["serial", "local"])
def test_every_phase_of_a_sweep_has_seconds_wherever_it_ran(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SWEEP, f"engine={engine}", "--profile"]) == 0
    out, err = capsys.readouterr()
    seconds = seconds_of(err)
    assert "Seconds" not in out
    assert list(seconds) == [*phases.PHASES, "all else", "total"]
    assert set(phases.clock.seconds) == set(phases.PHASES)
    assert all(value > 0 for value in phases.clock.seconds.values())
    assert seconds["total"] == pytest.approx(sum(seconds.values()) - seconds["total"], abs=0.1)


@pytest.mark.usefixtures("_in_an_empty_folder")
@pytest.mark.parametrize("flags", [["--cfg", "job"], ["--info"], ["--hydra-help"]])
def test_it_is_refused_where_nothing_runs(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mechanism=fm", *flags, "--profile"]) == 2
    assert "--profile needs a run" in capsys.readouterr().err


def test_a_phase_that_did_not_happen_has_no_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phases.clock, "_seconds", {"fit": 1.25})
    lines = profile_text().splitlines()
    assert lines[0] == "Seconds of processor time:"
    assert "  fit            1.25" in lines
    assert "  attack         0.00" in lines
