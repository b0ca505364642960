"""The benchmark script fails on a figure beyond its limit alone, and says what it could not check."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def benchmark(monkeypatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import benchmark

    return benchmark


@pytest.mark.parametrize(
    ("changes", "code", "line"),
    [
        ({"limit": 3.0}, 0, "one: 2 s (limit 3)"),
        ({"limit": 1.0}, 1, "one: 2 s (limit 1) TOO MUCH"),
        ({"least": 1.0}, 0, "one: 2 s (at least 1)"),
        ({"least": 3.0}, 1, "one: 2 s (at least 3) TOO LITTLE"),
        ({"value": None, "least": 3.0, "not_checked": "Install it."}, 0, "one: NOT CHECKED. Install it."),
    ],
)
def test_a_figure_beyond_its_limit_fails_the_check(changes, code, line, benchmark, monkeypatch, capsys, tmp_path) -> None:
    figure = benchmark.Measurement(**{"name": "one", "value": 2.0, "unit": "s", **changes})
    monkeypatch.setattr(benchmark, "measure_audits", lambda: iter([figure]))
    file = tmp_path / "figures.json"
    for check in ([], ["--check"]):
        monkeypatch.setattr(sys, "argv", ["benchmark.py", "--only", "audits", "--json", str(file), *check])
        assert benchmark.main() == (code if check else 0)
    assert capsys.readouterr().out == f"{line}\n" * 2
    (written,) = json.loads(file.read_text(encoding="utf-8"))["figures"]
    assert (written["value"], written["ok"]) == (figure.value, not code)
