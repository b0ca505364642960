"""Real tables go the way of a user's table, and give the numbers that were computed elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pandas
import pytest
from script_loader import load_script

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "plugins" / "datasets" / "data" / "open"


@pytest.fixture
def script() -> ModuleType:
    return load_script("real_tables")


def test_three_real_tables_agree_with_their_reference_numbers(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["real_tables.py", "airfoil", "concrete", "german_credit", "--repeats", "2"])
    assert script.main() == 0, capsys.readouterr().out
    out = capsys.readouterr().out
    assert out.count(" yes\n") == 7
    assert "All comparisons agree." in out


def test_a_table_whose_numbers_changed_disagrees(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pandas.read_parquet(TABLES / "concrete.parquet")
    frame.loc[5, "compressive_strength"] += 10
    frame.to_parquet(tmp_path / "concrete.parquet")
    (tmp_path / "tables.json").write_bytes((TABLES / "tables.json").read_bytes())
    monkeypatch.setattr(sys, "argv", ["real_tables.py", "concrete", "--folder", str(tmp_path), "--repeats", "1"])
    assert script.main() == 1
    assert "1 comparisons disagree." in capsys.readouterr().out
