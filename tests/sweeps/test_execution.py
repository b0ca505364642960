"""What is recorded is not run again; what failed says why, costs nobody else, and is tried again."""

from __future__ import annotations

import csv
import os
import signal
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from dpbench.sweeps import execution, recording
from dpbench.tracking.store import open_store

DropIn = Callable[[str, str], Path]

SMALL = ("splits.repeats=2", "splits.folds=2", "dataset=gaussian", "dataset.n=60", "dataset.d=2")
PAIR = ("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8", *SMALL)

CARELESS = '''
    import os
    import sys
    from dataclasses import dataclass
    from pathlib import Path

    import numpy as np

    from dpbench import Mechanism, hookimpl, option
    from dpbench.contracts.mechanism import Fit

    @dataclass(frozen=True)
    class Careless(Mechanism):
        """Fails above an ε, as long as a file is there."""

        name = "careless"
        guarantee = "none"
        how: str = option("divide", help="how it fails")

        def fit(self, curator, problem, budget):
            if budget.epsilon > 0.5 and Path("broken").exists():
                if self.how == "leave":
                    sys.exit("enough")
                if self.how == "die" and curator.n[0] < 50:
                    os._exit(9)
                if self.how == "die":
                    return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))
                if self.how == "shape":
                    return Fit.good(np.zeros((1, 1)))
                if self.how == "lines":
                    raise RuntimeError("first line\\nsecond line [bold]x[/bold] {}")
                1 / 0
            if self.how == "empty":
                return Fit.good(np.full((curator.runs, curator.geometry.dimension), np.nan))
            return Fit.good(np.zeros((curator.runs, curator.geometry.dimension)))

    @hookimpl
    def dpbench_mechanisms():
        return [Careless]
'''


def artifacts(run: Run) -> Path:
    return Path(unquote(urlsplit(run.info.artifact_uri).path))


def names(runs: list[Run]) -> list[tuple[str, str]]:
    return [(run.data.params["mechanism"], run.data.params["epsilon"]) for run in runs]


@pytest.fixture
def broken(home: Any, drop_in: DropIn) -> Path:
    """The careless mechanism, and the file that makes it fail."""
    drop_in("careless", CARELESS)
    path: Path = home.folder / "broken"
    path.touch()
    return path


def test_the_same_command_again_runs_nothing_and_prints_the_same_table(home: Any) -> None:
    first = home.run(*PAIR)
    again = home.run(*PAIR)
    assert (first.code, again.code) == (0, 0)
    assert first.counted == "Cells: 4 run."
    assert again.counted == "Cells: 0 run, 4 already recorded (rerun=true runs them again)."
    assert len(first.table) == 4
    assert again.table == first.table
    assert home.files == ["mlartifacts", "mlflow.db"]
    assert len(home.runs()) == 4


def test_only_what_is_missing_is_run(home: Any) -> None:
    home.run(*PAIR)
    answer = home.run("-m", "mechanism=dpba,no_privacy,fm", "epsilon=0.8", *SMALL)
    assert answer.counted == "Cells: 1 run, 2 already recorded (rerun=true runs them again)."
    assert [row[0] for row in answer.table] == ["dpba", "no_privacy", "fm"]
    single = home.run("mechanism=fm", "epsilon=0.1", *SMALL)
    assert single.counted == "Cells: 0 run, 1 already recorded (rerun=true runs them again)."
    assert len(home.runs()) == 5


def test_on_request_all_is_run_again_with_the_same_result(home: Any) -> None:
    first = home.run(*PAIR)
    again = home.run(*PAIR, "rerun=true")
    assert again.counted == "Cells: 4 run."
    assert again.table == first.table
    runs = home.runs()
    assert len(runs) == 8
    for one, other in zip(*(sorted(part, key=lambda run: names([run])) for part in (runs[:4], runs[4:])), strict=True):
        assert names([one]) == names([other])
        for name, value in one.data.metrics.items():
            if not name.startswith("time/"):
                assert other.data.metrics[name] == value, name


def test_a_sweep_on_another_engine_is_the_same_sweep(home: Any) -> None:
    first = home.run(*PAIR, "engine=serial")
    second = home.run(*PAIR, "engine=local", "engine.workers=2")
    assert second.counted.startswith("Cells: 0 run, 4 already")
    again = home.run(*PAIR, "engine=local", "engine.workers=2", "rerun=true")
    assert again.counted == "Cells: 4 run."
    assert again.table == first.table


def test_one_value_with_a_flag_is_a_sweep_of_one(home: Any) -> None:
    answer = home.run("-m", "epsilon=0.8", *SMALL)
    assert answer.counted == "Cells: 1 run."
    (cell,), (parent,) = home.runs(), home.runs("sweep")
    assert cell.data.tags["mlflow.parentRunId"] == parent.info.run_id


def test_one_cell_without_the_flag_stands_alone(home: Any) -> None:
    answer = home.run("epsilon=0.8", *SMALL)
    assert (answer.code, answer.counted) == (0, "Cells: 1 run.")
    (cell,) = home.runs()
    assert "mlflow.parentRunId" not in cell.data.tags
    assert home.runs("sweep") == []
    assert answer.out.rstrip().endswith("Open the runs: python -m dpbench ui")


def test_an_option_of_one_mechanism_is_set_for_that_one(home: Any) -> None:
    """Hydra would refuse a key that one of the choices does not have; one value or several, the sweeper knows whose it is."""
    answer = home.run("-m", "mechanism=fm,no_privacy", "mechanism.ridge=2", "epsilon=0.8", *SMALL)
    assert answer.code == 0, answer.err
    assert len(answer.table) == 2
    assert home.run("-m", "mechanism=fm", "mechanism.ridge=choice(2)", "epsilon=0.8", *SMALL).counted.startswith("Cells: 0 run")


def test_a_preset_of_ones_own_sweeps_by_itself(home: Any, tmp_path: Path) -> None:
    folder = tmp_path / "presets" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "# @package _global_\n"
        "defaults:\n  - override /dataset: gaussian\n"
        "dataset: {n: 60, d: 2}\n"
        "splits: {repeats: 2, folds: 2}\n"
        "hydra:\n  sweeper:\n    params:\n      mechanism: fm,dpba\n      epsilon: 0.1,0.8\n"
    )
    answer = home.run("--config-dir", str(folder.parent), "-m", "experiment=mine")
    assert answer.code == 0, answer.err
    assert answer.counted == "Cells: 4 run."
    assert home.run(*PAIR).counted.startswith("Cells: 0 run, 4 already recorded")
    narrowed = home.run("-m", "--config-dir", str(folder.parent), "experiment=mine", "epsilon=0.1", "mechanism.ridge=4")
    assert [row[0] for row in narrowed.table] == ["fm", "dpba"]
    assert home.run("-m", f"--config-dir={folder.parent}", "experiment=mine").counted.startswith("Cells: 0 run, 4 already")


def test_an_interrupted_sweep_is_killed_and_its_finished_cells_stay(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recording.run_cells

    def interrupted(planned: Any, engine: Any, keep: Callable[[Any], None], audits: Any, **more: Any) -> None:
        kept: list[Any] = []

        def keep_two(record: Any) -> None:
            if len(kept) == 2:
                raise KeyboardInterrupt
            kept.append(record)
            keep(record)

        whole(planned, engine, keep_two, audits, **more)

    monkeypatch.setattr(recording, "run_cells", interrupted)
    answer = home.run(*PAIR)
    assert (answer.code, answer.err.strip().splitlines()[-1]) == (130, "Interrupted.")
    assert "2 of 4 cells are finished. Finished cells stay recorded in sqlite:" in answer.err
    assert "The same command runs the others only." in answer.err
    (parent,) = home.runs("sweep")
    assert parent.info.status == "KILLED"
    assert "Interrupted: 2 of 4 cells were finished." in parent.data.tags["mlflow.note.content"]
    assert [run.info.status for run in home.runs()] == ["FINISHED", "FINISHED"]
    monkeypatch.undo()
    monkeypatch.chdir(home.folder)
    assert home.run(*PAIR).counted == "Cells: 2 run, 2 already recorded (rerun=true runs them again)."


@pytest.mark.parametrize("call", ["create_run", "log_batch", "set_tag"], ids=["beginning", "a cell", "the end"])
def test_an_interruption_waits_until_a_write_is_whole(home: Any, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """Cut in the middle, MLflow leaves a transaction open, and whatever is written next waits for its lock for ever."""
    whole = []
    method = getattr(MlflowClient, call)

    def pressed(*arguments: Any, **keywords: Any) -> Any:
        if not whole:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # the interpreter looks for signals here
                pass
        result = method(*arguments, **keywords)
        whole.append(result)
        return result

    monkeypatch.setattr(MlflowClient, call, pressed)
    answer = home.run(*PAIR)
    assert answer.code == 130
    assert whole, "the write was cut"
    assert {run.info.status for run in home.runs("sweep")} <= {"KILLED", "FINISHED"}
    assert {run.info.status for run in home.runs()} <= {"FINISHED"}


def test_a_cell_that_fails_is_recorded_and_costs_nobody_else(home: Any, broken: Path) -> None:
    command = ("-m", "mechanism=fm,careless", "epsilon=0.1,0.8", *SMALL)
    answer = home.run(*command)
    assert answer.code == 1
    assert "Traceback" not in answer.err + answer.out
    assert answer.counted == "Cells: 3 run, 1 FAILED."
    assert "FAILED (1 cell of careless): ZeroDivisionError: division by zero (careless.py:" in answer.out
    (failed,) = home.runs(status="failed")
    assert names([failed]) == [("careless", "0.8")]
    assert failed.info.status == "FAILED"
    assert failed.data.tags["dpbench.error"].startswith("ZeroDivisionError: division by zero (careless.py:")
    assert failed.data.metrics == {}
    (parent,) = home.runs("sweep")
    assert parent.info.status == "FAILED"
    assert "1 cell failed; see plan.csv." in parent.data.tags["mlflow.note.content"]
    with (artifacts(parent) / "plan.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["state"], row["mechanism"], row["epsilon"]) for row in rows] == [
        ("run", "fm", "0.1"),
        ("run", "fm", "0.8"),
        ("run", "careless", "0.1"),
        ("failed", "careless", "0.8"),
    ]
    assert rows[3]["why"].startswith("ZeroDivisionError")

    again = home.run(*command)
    assert (again.code, again.counted) == (1, "Cells: 0 run, 3 already recorded (rerun=true runs them again), 1 FAILED.")
    broken.unlink()
    mended = home.run(*command)
    assert (mended.code, mended.counted) == (0, "Cells: 1 run, 3 already recorded (rerun=true runs them again).")


def test_a_single_cell_that_fails_has_its_exit_code_too(home: Any, broken: Path) -> None:
    answer = home.run("mechanism=careless", "epsilon=0.9", *SMALL)
    assert (answer.code, answer.counted) == (1, "Cells: 0 run, 1 FAILED.")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("shape", "ValueError: careless must return weights of shape (4, 3). Got (1, 1) instead."),
        ("lines", "RuntimeError: first line"),
        ("leave", "enough"),
    ],
)
def test_every_way_to_fail_says_why(home: Any, broken: Path, how: str, says: str) -> None:
    answer = home.run("-m", "mechanism=fm,careless", f"mechanism.how={how}", "epsilon=0.8", "engine=serial", *SMALL)
    assert (answer.code, answer.counted) == (1, "Cells: 1 run, 1 FAILED.")
    assert says in " ".join(answer.out.split())
    (failed,) = home.runs(status="failed")
    assert says in failed.data.tags["dpbench.error"]


def test_a_cell_that_kills_its_worker_is_recorded_as_failed(home: Any, broken: Path) -> None:
    grid = ("mechanism=fm,careless", "mechanism.how=die", "epsilon=0.8", "dataset.n=60,200", "dataset=gaussian", "dataset.d=2")
    answer = home.run("-m", *grid, "splits.repeats=2", "splits.folds=2", "engine=local", "engine.workers=2")
    assert answer.code == 1
    assert "the worker process died" in " ".join(answer.out.split())
    failed = {(run.data.params["mechanism"], run.data.params["dataset.n"]) for run in home.runs(status="failed")}
    assert ("careless", "60") in failed
    assert {n for _, n in failed} == {"60"}, "other units are not touched"


def test_runs_without_a_number_leave_none_in_the_record(home: Any, drop_in: DropIn) -> None:
    drop_in("careless", CARELESS)
    answer = home.run("-m", "mechanism=careless", "mechanism.how=empty", "epsilon=0.1,0.8", *SMALL)
    assert answer.code == 0, answer.err
    assert all("none" in row and "none - none" in row for row in answer.table)
    for run in home.runs():
        assert run.data.metrics["health/diverged"] == 1.0
        known = {name: value for name, value in run.data.metrics.items() if name.startswith("utility/")}
        assert known == {"utility/failed_share": 1.0}, "a run without weights has lost everything"
        assert run.data.metrics["reference/no_privacy/rmse_median"] > 0
    database = sqlite3.connect(home.folder / "mlflow.db")
    bad = database.execute("SELECT count(*) FROM metrics WHERE is_nan OR abs(value) > 1e300").fetchone()
    database.close()
    assert bad == (0,)


def test_an_edited_plugin_is_not_taken_for_the_old_one(home: Any, drop_in: DropIn) -> None:
    command = ("-m", "mechanism=fm,careless", "epsilon=0.1", "engine=serial", *SMALL)
    drop_in("careless", CARELESS)
    home.run(*command)
    drop_in("careless", CARELESS.replace("np.zeros((curator", "np.ones((curator"))
    edited = home.run(*command)
    assert edited.counted == "Cells: 1 run, 1 already recorded (rerun=true runs them again)."
    first, second = (run.data.metrics["utility/rmse_median"] for run in home.runs() if run.data.params["mechanism"] == "careless")
    assert first != second, "nor is what this process still knows of the old one"
    drop_in("careless", CARELESS)
    assert home.run(*command).counted.startswith("Cells: 0 run, 2 already")


def test_a_password_of_the_store_is_written_nowhere(
    home: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store's address is part of the command, and the command is part of the record."""
    here = f"sqlite:///{home.folder / 'mlflow.db'}"
    monkeypatch.setattr(execution, "open_store", lambda uri, experiment: open_store(here, experiment))
    answer = home.run("-m", "epsilon=0.1,0.8", "tracking.uri=postgresql+psycopg2://me:hush-hush@127.0.0.1/db", *SMALL)
    assert answer.code == 0, answer.err
    assert "hush-hush" not in answer.out + answer.err
    for path in [home.folder / "mlflow.db", *(path for path in (home.folder / "mlartifacts").rglob("*") if path.is_file())]:
        assert b"hush-hush" not in path.read_bytes(), path.name


SECRET = 0.7318529418267353

CONFIDENTIAL = f'''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Dataset, hookimpl
    from dpbench.data.table import Column, Table

    @dataclass(frozen=True)
    class Confidential(Dataset):
        """Rows that are nobody's business."""

        name = "confidential"
        bounds_source = "the law of the rows"

        def load(self, generator):
            features = generator.uniform(-1, 1, (80, 2))
            response = features.sum(axis=1) / 2
            features[7] = {SECRET!r}
            response[7] = -{SECRET!r}
            return Table((Column("a", -1, 1), Column("b", -1, 1)), Column("y", -1, 1), features, response)

    @hookimpl
    def dpbench_datasets():
        return [Confidential]
'''


def test_no_private_row_leaves_the_worker(home: Any, drop_in: DropIn) -> None:
    drop_in("confidential", CONFIDENTIAL)
    drop_in("careless", CARELESS)
    (home.folder / "broken").touch()
    answer = home.run(
        "-m", "mechanism=fm,no_privacy,careless", "epsilon=0.8", "dataset=confidential", "splits.repeats=2", "splits.folds=2"
    )
    assert answer.code == 1
    text = repr(SECRET)[:8]
    numbers = (SECRET, -SECRET, int(SECRET * 65536) / 65536)  # the last one is what scaling makes of it
    patterns = [text.encode(), *(struct.pack("<d", number) for number in numbers)]
    assert text not in answer.out + answer.err
    files = [path for path in home.folder.rglob("*") if path.is_file()]
    assert len(files) > 6
    for path in files:
        content = path.read_bytes()
        assert not any(pattern in content for pattern in patterns), path.name
