"""A cell that fails, hangs or kills its worker costs itself alone; with fail_fast it ends the sweep."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.cells import loading, time_limit
from dpbench.sweeps import recording
from dpbench.sweeps.engines.unit_folder import UnitFolder

DropIn = Callable[[str, str], Path]

EXTRAS = {"dask": "distributed", "ray": "ray"}
GRID = ("-m", "mechanism=wayward,fm", "dataset=gaussian", "dataset.d=2", "splits.repeats=2", "splits.folds=2")

WAYWARD = '''
    import time
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Fit, Mechanism, hookimpl, option

    def hang():
        while True:
            try:
                time.sleep(0.01)
            except ValueError:
                pass

    @dataclass(frozen=True)
    class Wayward(Mechanism):
        """Hangs or fails at ε = 1."""

        name = "wayward"
        guarantee = "none"
        how: str = option("hang", help="what it does")

        def fit(self, curator, problem, budget):
            if budget.epsilon == 1:
                hang() if self.how == "hang" else 1 / 0
            return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))

    @hookimpl
    def dpbench_mechanisms():
        return [Wayward]
'''


@pytest.fixture(autouse=True)
def wayward(drop_in: DropIn) -> None:
    drop_in("wayward", WAYWARD)


@pytest.mark.parametrize("engine", ["serial", "local"])
def test_a_cell_that_takes_too_long_fails_and_the_others_go_on(home: Any, engine: str) -> None:
    answer = home.run(*GRID, "dataset.n=80", "epsilon=1,2", f"engine={engine}", "engine.timeout=4")
    assert (answer.code, answer.counted) == (1, "Cells: 3 run, 1 FAILED.")
    (failed,) = home.runs(status="failed")
    assert (failed.data.params["mechanism"], failed.data.params["epsilon"]) == ("wayward", "1")
    assert failed.data.tags["dpbench.error"] == "It took longer than the 4 seconds that engine.timeout allows for a cell."


def test_a_block_of_a_large_table_has_its_share_of_the_time(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []
    monkeypatch.setattr("dpbench.cells.unit_runner.within", lambda seconds, call: limits.append(seconds) or call())
    monkeypatch.setattr("dpbench.sweeps.plan.BLOCK_ROWS", 80)
    home.run("-m", "mechanism=fm", *GRID[2:], "dataset.n=80", "epsilon=2,3", "engine=serial", "engine.timeout=60")
    assert set(limits) == {60, 30}, "loading has all of it; each of two blocks of one repeat has half"
    assert limits.count(30) == 4
    assert limits[0] == 60


def test_an_audit_that_takes_too_long_vouches_for_nothing(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def over(seconds: float | None, call: Callable[[], Any]) -> Any:
        raise time_limit.TimeIsOver

    monkeypatch.setattr("dpbench.sweeps.running.within", over)
    answer = home.run("mechanism=fm", *GRID[2:], "dataset.n=80", "audit.level=replay", "engine=serial", "engine.timeout=9")
    assert answer.code == 0, answer.err
    (run,) = home.runs()
    assert run.data.tags["dpbench.guarantee"] == "claimed"
    assert "It took longer than the 9 seconds that engine.timeout allows." in run.data.tags["dpbench.guarantee_why"]


def test_the_first_failed_cell_ends_the_sweep_if_asked(home: Any) -> None:
    grid = ("-m", "mechanism=wayward", *GRID[2:], "mechanism.how=fail", "dataset.n=80,90", "epsilon=2,1,3")
    answer = home.run(*grid, "engine=serial", "fail_fast=true")
    assert answer.code == 1
    sentence = answer.err.strip().splitlines()[-1]
    assert sentence.startswith("A cell failed, and fail_fast=true ends the sweep: ZeroDivisionError: ")
    assert sentence.endswith("The same command runs the others only.")
    (parent,) = home.runs("sweep")
    assert parent.info.status == "KILLED"
    assert "fail_fast=true ends the sweep" in parent.data.tags["mlflow.note.content"]
    assert len(home.runs(status="ok")) == 1, "what was finished stays"
    assert len(home.runs(status="failed")) == 1
    assert home.run(*grid, "engine=serial").counted == "Cells: 3 run, 1 already recorded (rerun=true runs them again), 2 FAILED."


@pytest.mark.parametrize("engine", ["local", "files"])
def test_a_worker_with_other_code_than_the_sweep_runs_and_audits_nothing_of_it(
    home: Any, drop_in: DropIn, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mechanism that is repaired between the plan and the workers' start must not vouch for the cells of the broken one."""
    run_cells, worker = recording.run_cells, []

    def edited(*arguments: Any, **options: Any) -> None:
        (home.folder.parent / "plugins" / "share.py").write_text(textwrap.dedent(SHARE))
        if engine == "files":
            UnitFolder(home.folder / "units", create=True)
            worker.append(subprocess.Popen([sys.executable, "-m", "dpbench", "work", "units"]))
        run_cells(*arguments, **options)

    monkeypatch.setattr(recording, "run_cells", edited)
    drop_in("share", SHARE.replace("* 1", "* 0.25"))
    where = ("engine.folder=units",) if engine == "files" else ("engine.workers=1",)
    grid = ("-m", "mechanism=share,fm", *GRID[2:], "dataset.n=80", "epsilon=1,2", "audit.level=replay")
    answer = home.run(*grid, f"engine={engine}", *where)
    for process in worker:
        process.wait()
    assert answer.counted == "Cells: 2 run, 2 FAILED.", answer.err
    assert {run.data.params["mechanism"] for run in home.runs(guarantee="sound")} == {"fm"}
    sentence = "This worker has other code of the mechanism share than the sweep: start both again."
    failed = home.runs(status="failed")
    assert [(run.data.params["mechanism"], run.data.tags["dpbench.error"]) for run in failed] == [("share", sentence)] * 2


def test_a_worker_with_other_data_than_the_sweep_runs_nothing(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run_cells, file = recording.run_cells, home.folder / "people.csv"

    def edited(*arguments: Any, **options: Any) -> None:
        file.write_text(file.read_text().replace("3,4", "3,5"))
        run_cells(*arguments, **options)

    monkeypatch.setattr(recording, "run_cells", edited)
    file.write_text("a,y\n" + "1,2\n3,4\n" * 40)
    table = ("dataset=table", "dataset.path=people.csv", "dataset.target=y", "dataset.bounds={a:[0,9],y:[0,9]}")
    answer = home.run("-m", "mechanism=fm", "epsilon=1,2", *table, *GRID[4:], "engine=local", "engine.workers=1")
    assert answer.code == 1, answer.err
    errors = {run.data.tags["dpbench.error"] for run in home.runs(status="failed")}
    assert errors == {"This worker has other data of the dataset table than the sweep: start both again."}
    assert home.runs(status="ok") == []


def test_a_wrong_fail_fast_is_refused(home: Any) -> None:
    assert home.run(*GRID, "fail_fast=perhaps").refused("fail_fast", "true or false", "'perhaps'")


@pytest.mark.parametrize("engine", ["serial", "local", "dask"])
def test_a_worker_loads_a_table_once_for_all_of_its_units(
    home: Any, drop_in: DropIn, tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine in EXTRAS and importlib.util.find_spec(EXTRAS[engine]) is None:
        pytest.skip(f"{engine.title()} is not installed: pip install -e '.[{engine}]'")
    log = tmp_path / "loaded"
    drop_in("counted", COUNTED.replace("LOG", repr(str(log))))
    workers = () if engine == "serial" else ("engine.workers=2",)
    loading.last_rows.clear()
    budgets = ",".join(f"{number / 10}" for number in range(1, 21))
    grid = ("-m", "mechanism=fm,dpba", f"epsilon={budgets}", "dataset=counted", "dataset.size=60,70", *GRID[4:])
    answer = home.run(*grid, f"engine={engine}", *workers)
    assert answer.code == 0, answer.err
    loads = [line.split() for line in log.read_text().splitlines()]
    own = [(pid, size) for pid, size in loads if int(pid) != os.getpid()]
    assert len(own) == len(set(own)), "ten units share a table, and no worker loaded it twice"
    assert (len(own) > 0) is (engine != "serial")
    assert len(loads) - len(own) <= 2 * 2, "this process loads each table to plan, and at most once to run"


@pytest.mark.parametrize("engine", ["local", "dask", "ray"])
def test_a_worker_that_is_killed_in_the_middle_of_a_sweep_costs_nothing(
    home: Any, drop_in: DropIn, tmp_path: Path, engine: str
) -> None:
    if engine in EXTRAS and importlib.util.find_spec(EXTRAS[engine]) is None:
        pytest.skip(f"{engine.title()} is not installed: pip install -e '.[{engine}]'")
    drop_in("fatal", FATAL.replace("MARK", repr(str(tmp_path / "mark"))))
    grid = ("-m", "mechanism=fatal,fm", "epsilon=1,2,3", *GRID[2:], "dataset.n=80,90")
    answer = home.run(*grid, f"engine={engine}", "engine.workers=2")
    assert (answer.code, answer.counted) == (0, "Cells: 12 run."), answer.err
    assert (tmp_path / "mark").exists(), "a worker was killed"
    assert "Traceback" not in answer.err


SHARE = """
    from dataclasses import dataclass

    from dpbench import Fit, Mechanism, hookimpl
    from dpbench.privacy.noise import laplace

    @dataclass(frozen=True)
    class Share(Mechanism):
        '''Noise for a share of the sensitivity.'''

        name = "share"
        guarantee = "ε-DP, it says"

        def fit(self, curator, problem, budget):
            query = problem.polynomial()
            answer = curator.release(query, laplace(query.l1_bound("tight") * 1, budget.epsilon, "share"))
            return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())

    @hookimpl
    def dpbench_mechanisms():
        return [Share]
"""

FATAL = '''
    import os
    import signal
    from dataclasses import dataclass
    from pathlib import Path

    import numpy as np

    from dpbench import Fit, Mechanism, hookimpl

    @dataclass(frozen=True)
    class Fatal(Mechanism):
        """Kills the first worker that runs it at ε = 2."""

        name = "fatal"
        guarantee = "none"

        def fit(self, curator, problem, budget):
            if budget.epsilon == 2 and not Path(MARK).exists():
                Path(MARK).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))

    @hookimpl
    def dpbench_mechanisms():
        return [Fatal]
'''

COUNTED = '''
    import os
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Dataset, hookimpl, option
    from dpbench.data.table import Column, Table

    @dataclass(frozen=True)
    class Counted(Dataset):
        """Writes down which process loaded it."""

        name = "counted"
        bounds_source = "the even steps from -1 to 1"
        size: int = option(60, help="how many rows")

        def load(self, rng):
            with open(LOG, "a") as file:
                file.write(f"{os.getpid()} {self.size}\\n")
            x = np.linspace(-1, 1, self.size)[:, None]
            return Table((Column("x", -1, 1),), Column("y", -1, 1), x, x[:, 0] / 2)

    @hookimpl
    def dpbench_datasets():
        return [Counted]
'''
