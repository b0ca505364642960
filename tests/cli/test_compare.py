"""The subcommand ``compare``: a gate that fails if a cell became worse."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import dpbench
from dpbench.__main__ import main
from dpbench.cells.unit_runner import last_runner
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import sweeps

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")

Capture = pytest.CaptureFixture[str]
GRID = {"dataset": "gaussian", "epsilon": [1.0, 2.0]}
SMALL = {"dataset.n": 60, "dataset.d": 2, "splits.repeats": 7, "splits.folds": 2}

CONSTANT = '''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Mechanism, hookimpl
    from dpbench.contracts.mechanism import Fit

    @dataclass(frozen=True)
    class Constant(Mechanism):
        """Weights that are a number."""

        name = "constant"
        guarantee = "none"

        def fit(self, curator, problem, budget):
            return Fit.good(np.full((curator.runs, curator.geometry.dimension), WEIGHT))

    @hookimpl
    def dpbench_mechanisms():
        return [Constant]
'''


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with a sweep of ``no_privacy``, then two of ``constant``, which an edit between them made worse."""
    folder = tmp_path_factory.mktemp("compare")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPBENCH_PLUGINS_DIR", str(folder / "plugins"))
        (folder / "plugins").mkdir()
        store = {**SMALL, "tracking.uri": f"sqlite:///{folder / 'm.db'}"}
        for mechanism, weight in (("no_privacy", "0"), ("constant", "0.0"), ("constant", "9.0 * (budget.epsilon < 1.5)")):
            (folder / "plugins" / "constant.py").write_text(textwrap.dedent(CONSTANT.replace("WEIGHT", weight)))
            forget()
            dpbench.sweep(store, mechanism=mechanism, **GRID)
        yield folder
    forget()


def forget() -> None:
    """Find components anew, with the code that their files have now."""
    for cached in (registry, register):
        cached.cache_clear()
    last_runner.clear()


@pytest.fixture(autouse=True)
def _here(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{home / 'm.db'}")
    capsys.readouterr()


def test_a_cell_that_became_worse_is_listed_with_exit_code_1(capsys: Capture) -> None:
    assert main(["compare", "previous", "latest"]) == 1
    out = capsys.readouterr().out
    assert "2 cells: 1 worse, 1 same." in out
    (row,) = [line for line in out.splitlines() if "ε=1" in line]
    assert "worse" in row
    assert "ε=2" not in out
    assert main(["compare", "latest", "previous"]) == 0, "in the other direction it became better"
    assert "1 better" in capsys.readouterr().out


def test_for_programs_every_cell_is_json(capsys: Capture) -> None:
    assert main(["compare", "previous", "latest", "--json"]) == 1
    worse, same = json.loads(capsys.readouterr().out)
    assert (worse["verdict"], worse["params"]["epsilon"], same["verdict"]) == ("worse", "1", "same")
    assert worse["difference"] == pytest.approx(worse["after"] - worse["before"])
    assert worse["low"] > worse["threshold"] > 0


def test_the_second_sweep_may_be_in_another_store(home: Path, capsys: Capture) -> None:
    shutil.copy(home / "m.db", home / "copy.db")
    assert main(["compare", "latest", "latest", f"other.uri=sqlite:///{home / 'copy.db'}"]) == 0
    assert capsys.readouterr().out == "2 cells: 2 same.\n"


def test_sweeps_without_a_common_cell_and_wrong_names_are_refused(home: Path, capsys: Capture) -> None:
    with open_store(create=False) as store:
        oldest = sweeps(store)[-1].info.run_id
    for arguments in ([oldest, "latest"], ["latest"], ["latest", "nosuch"], ["latest", "latest", "seed=1"]):
        assert main(["compare", *arguments]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
