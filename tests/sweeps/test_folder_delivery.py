"""What workers finished reaches the store without the sweep's own process: all of it, once, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.engines.folder_lease import FolderLease
from dpbench.sweeps.engines.folder_worker import work
from dpbench.sweeps.engines.remote_task import RemoteTask
from dpbench.sweeps.engines.unit_folder import UnitFolder
from dpbench.sweeps.folder_delivery import request_of
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan
from dpbench.sweeps.running import run_item

GRID = ("-m", "mechanism=fm,dpba", "epsilon=0.5,1,2", "dataset=gaussian", "dataset.n=80", "dataset.d=2", "splits.repeats=2")
FILES = ("engine=files", "engine.folder=units")

Start = Callable[..., UnitFolder]


@pytest.fixture
def abandoned(home: Any) -> Start:
    """Start a sweep whose process is killed as soon as its units are written: the folder that it leaves."""

    def killed(*more: str) -> UnitFolder:
        command = [sys.executable, "-m", "dpbench", *GRID, *FILES, *more]
        units = home.folder / "units" / "units"
        with subprocess.Popen(command, stderr=subprocess.PIPE) as sweep:
            while not (units.is_dir() and len(list(units.glob("[!.]*"))) == 6):  # others are still being written
                assert sweep.poll() is None, sweep.stderr.read()
            sweep.send_signal(signal.SIGKILL)
        return UnitFolder(home.folder / "units")

    return killed


def numbers(home: Any) -> dict[Any, Any]:
    """The medians of all finished cells, by their parameters; every cell is there once."""
    runs = home.runs(status="ok")
    found = {tuple(sorted(run.data.params.items())): run.data.metrics["utility/rmse_median"] for run in runs}
    assert len(found) == len(runs)
    return found


def run_some(folder: UnitFolder, count: int) -> None:
    """Let a worker finish so many units, in a process of its own: tables of this process stay what they are."""
    hidden = folder.files("units")[count:]
    for file in hidden:
        os.rename(folder["units"] / file.name, folder.path / file.name)
    subprocess.run([sys.executable, "-m", "dpbench", "work", str(folder.path), "--until-empty"], check=True, capture_output=True)
    for file in hidden:
        os.rename(folder.path / file.name, folder["units"] / file.name)


def test_flush_delivers_what_is_finished_and_the_next_one_the_rest(home: Any, abandoned: Start) -> None:
    folder = abandoned()
    run_some(folder, 2)
    answer = home.run("flush", "units")
    assert answer.code == 1
    assert answer.out.startswith("4 cells of 6 have no result yet. 2 of 6 cells are finished. Finished cells stay")
    assert answer.out.count("\n") == 1
    assert [run.info.status for run in home.runs("sweep")] == ["KILLED", "KILLED"]
    assert "4 cells of 6 have no result yet." in home.runs("sweep")[-1].data.tags["mlflow.note.content"]
    assert len(numbers(home)) == 2
    work(folder.path)
    answer = home.run("flush", "units")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("All of 6 cells are recorded in sqlite:")
    (finished,) = home.runs("sweep")[-1:]
    assert finished.info.status == "FINISHED"
    assert {run.data.tags["mlflow.parentRunId"] for run in home.runs()} == {finished.info.run_id}
    assert sorted(name for place in folder.path.iterdir() if place.is_dir() for name in os.listdir(place)) == []
    delivered = numbers(home)
    home.run(*GRID, "engine=serial", "tracking.experiment=again")
    assert home.run("flush", "units").out == "No sweep waits for results in units.\n"
    home.run(*GRID, "engine=serial", "rerun=true")
    again = {tuple(sorted(run.data.params.items())): run.data.metrics["utility/rmse_median"] for run in home.runs()[-6:]}
    assert delivered == again, "the same bits as in this process"


def test_the_same_command_uses_what_was_finished_without_it(home: Any, abandoned: Start) -> None:
    folder = abandoned()
    work(folder.path)
    for name in os.listdir(folder["results"]):
        os.utime(folder["results"] / name)
    answer = home.run(*GRID, *FILES)  # there is no worker: all results are there already
    assert answer.counted == "Cells: 6 run."
    assert len(numbers(home)) == 6


def test_a_sweep_that_still_runs_is_left_to_its_own_process(home: Any, abandoned: Start) -> None:
    folder = abandoned()
    with FolderLease(folder["parents"] / "running"):
        assert home.run("flush", "units").refused("still runs and delivers its results itself")


def test_a_failed_cell_waits_until_nothing_else_is_missing(home: Any, abandoned: Start) -> None:
    from dpbench.cells.work_unit import BlockResult

    folder = abandoned()
    file = folder.take("somebody")
    assert file is not None
    _, unit = folder.load(file)
    folder.finish(file, [BlockResult(unit.cells[0].key, unit.repeats, error="It did not work.")])
    assert home.run("flush", "units").code == 1
    assert home.runs(status="failed") == []
    work(folder.path)
    assert home.run("flush", "units").code == 0
    (failed,) = home.runs(status="failed")
    assert failed.data.tags["dpbench.error"] == "It did not work."


def test_cells_that_were_to_run_again_are_delivered_together(home: Any, abandoned: Start) -> None:
    home.run(*GRID, "engine=serial")
    folder = abandoned("rerun=true")
    run_some(folder, 3)
    assert home.run("flush", "units").code == 1
    assert len(home.runs(status="ok")) == 6
    work(folder.path)
    assert home.run("flush", "units").code == 0
    assert len(home.runs(status="ok")) == 12


def test_an_audit_of_edited_code_does_not_vouch_for_cells_of_the_old_code(home: Any, drop_in: Callable[[str, str], Path]) -> None:
    request = ["mechanism=share", *GRID[3:], "splits.folds=2", "audit.level=replay"]
    drop_in("share", SHARE.replace("* 1", "* 2"))
    points = grid_points(request)
    old = plan(points)
    (cell_unit,), (audit,) = old.units(), Audits(old, {}).units
    folder = UnitFolder(home.folder / "units", create=True)
    folder.write_request(*request_of(old, points[0].config, sweep=False, command=request, overrides=request))
    folder.publish(0, RemoteTask(run_item), cell_unit)
    work(folder.path, until_empty=True)

    drop_in("share", SHARE)
    assert home.run(*request, "engine=serial").code == 0
    assert [run.data.tags["dpbench.guarantee"] for run in home.runs()] == ["sound"]
    assert home.run("flush", "units").out.startswith("1 cell of 1 have no result yet.")
    assert len(home.runs()) == 1, "nothing says that the old code is sound"
    folder.publish(1, RemoteTask(run_item), audit)
    work(folder.path, until_empty=True)
    assert home.run("flush", "units").code == 0
    old_run = home.runs()[-1]
    assert old_run.data.tags["dpbench.guarantee"] == "claimed"
    assert "other code of the mechanism share" in old_run.data.tags["dpbench.guarantee_why"]


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


def test_another_store_may_be_named(home: Any, abandoned: Start, tmp_path: Path) -> None:
    folder = abandoned()
    work(folder.path)
    answer = home.run("flush", "units", f"tracking.uri=sqlite:///{tmp_path / 'other.db'}")
    assert answer.out == f"All of 6 cells are recorded in sqlite:///{tmp_path / 'other.db'}.\n"
    assert home.runs(status="ok") == []


def test_the_stores_password_is_not_kept(planned: Callable[..., Any]) -> None:
    uri = "postgresql+psycopg2://me:hunter2@db.example/mlflow"
    config = {"tracking": {"uri": uri, "experiment": "dpbench"}}
    typed = ["-m", f"tracking.uri={uri}"]
    _, request = request_of(planned("mechanism=fm"), config, sweep=True, command=typed, overrides=typed[1:])
    assert request.config["tracking"] == {"uri": None, "experiment": "dpbench"}
    assert "hunter2" not in repr(request)
