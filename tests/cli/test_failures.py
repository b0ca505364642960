"""The subcommand ``failures``: where in the code a cell failed, and no word that may quote a private row."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from dpbench.__main__ import main

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")

QUOTING = '''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Fit, Mechanism, hookimpl, option

    @dataclass(frozen=True)
    class Quoting(Mechanism):
        """Fails at ε = 1, and says what it has seen."""

        name = "quoting"
        guarantee = "none"

        def fit(self, curator, problem, budget):
            secret = "Jane" + " " + "Doe"
            if budget.epsilon == 1:
                raise ValueError(f"a row of {secret}")
            return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))

    @hookimpl
    def dpbench_mechanisms():
        return [Quoting]
'''


@pytest.fixture
def home(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a private table, and a plugin that quotes it when it fails."""
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "quoting.py").write_text(textwrap.dedent(QUOTING))
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path / "plugins"))
    rows = "\n".join(f"{index / 40},{1 - index / 40}" for index in range(40))
    (tmp_path / "people.csv").write_text(f"x,y\n{rows}\n")
    (tmp_path / "people.yaml").write_text("columns: {x: {low: 0, high: 1}, y: {low: 0, high: 1}}\n")
    return tmp_path


def swept(*more: str) -> int:
    return main(["-m", "mechanism=quoting", "epsilon=1,2", "splits.repeats=2", "splits.folds=2", "engine=serial", *more])


def test_it_shows_where_a_cell_failed_and_nothing_of_its_rows(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert swept("dataset=table", "dataset.path=people.csv", "dataset.bounds=people.yaml", "dataset.target=y") == 1
    capsys.readouterr()
    assert main(["failures"]) == 0
    out = capsys.readouterr().out
    assert 'raise ValueError(f"a row of {secret}")' in out
    assert "ValueError: what it says is left out, since it may quote a private row" in out
    assert "Jane Doe" not in out
    assert "1 cell of the sweep" in out.splitlines()[-1]
    assert main(["failures", "latest", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["reason"].startswith("ValueError: what it says is left out")
    assert cell["traceback"].endswith(cell["reason"])
    files = [path for path in (home / "mlartifacts").rglob("*") if path.is_file()]
    assert any(path.name == "traceback.txt" for path in files)
    assert not [path for path in files if b"Jane Doe" in path.read_bytes()]


def test_a_sweep_without_failures_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-m", "mechanism=fm", "epsilon=1,2", "dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2"])
    capsys.readouterr()
    assert main(["failures"]) == 0
    assert capsys.readouterr().out.startswith("No cell of the sweep ")


def test_one_sweep_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["failures", "a", "b"]) == 2
    assert "Failures are listed for one sweep at a time. Got 2 names." in capsys.readouterr().err
