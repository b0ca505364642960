"""Finished cells reach the store once, from whichever process ran them, also if the store is away for a while."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import TEMPORARILY_UNAVAILABLE

from dpbench.sweeps import execution, recording
from dpbench.tracking import patience
from dpbench.tracking.claims import _ListedClaims, claims_on
from dpbench.tracking.store import open_store

PAIR = ("-m", "mechanism=fm,dpba", "epsilon=0.1,0.8", "dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2")


def records_a_cell(folder: Path) -> list[int]:
    """Return how often each recorded cell is recorded."""
    question = (
        "SELECT count(*) FROM tags JOIN runs ON runs.run_uuid = tags.run_uuid "
        "WHERE key = 'dpbench.key' AND lifecycle_stage = 'active' GROUP BY value"
    )
    with closing(sqlite3.connect(folder / "mlflow.db")) as database:
        return [count for (count,) in database.execute(question)]


@pytest.mark.long
def test_identical_sweeps_at_once_record_every_cell_once(home: Any) -> None:
    epsilons = ",".join(f"{number / 4}" for number in range(1, 16))
    command = [sys.executable, "-m", "dpbench", *PAIR[:2], f"epsilon={epsilons}", *PAIR[3:], "engine=serial"]
    started = [
        subprocess.Popen(command, cwd=home.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said
    assert records_a_cell(home.folder) == [1] * 30
    ran = [int(out.split("Cells: ")[1].split()[0]) for out, _ in said]
    assert sum(ran) == 30, "no process ran what another one did"
    assert {run.info.status for run in home.runs("sweep")} == {"FINISHED"}
    assert not list(home.folder.glob("*.claims"))


def test_a_cell_that_another_process_claims_is_waited_for(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process ends without a record: then its cell is run here."""
    home.run(*PAIR[:2], "epsilon=0.1", *PAIR[3:])  # the store and the experiment
    waited: list[Any] = []
    whole = recording.run_cells

    def other_claims_it(plan: Any, *arguments: Any, **options: Any) -> None:
        if not waited:
            held.append(hold(plan.to_run[-1].cell.key))
        whole(plan, *arguments, **options)

    held: list[subprocess.Popen[str]] = []

    def hold(key: str) -> subprocess.Popen[str]:
        code = (
            "import sys; from dpbench.tracking.claims import claims_on; from dpbench.tracking.store import open_store\n"
            "with open_store(sys.argv[1]) as store:\n"
            "    print(claims_on(store, None).take(sys.argv[2:]), flush=True)\n"
            "    sys.stdin.readline()"
        )
        command = [sys.executable, "-c", code, f"sqlite:///{home.folder / 'mlflow.db'}", key]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert key in process.stdout.readline()
        return process

    def end_it(seconds: float) -> None:
        waited.append(seconds)
        held[0].kill()
        held[0].communicate()

    monkeypatch.setattr(recording, "run_cells", other_claims_it)
    monkeypatch.setattr(recording.time, "sleep", end_it)
    answer = home.run(*PAIR)
    assert answer.code == 0, answer.err
    assert "Another process runs 1 cell of this sweep: waiting for it." in answer.err
    assert waited
    assert records_a_cell(home.folder) == [1] * 4


@pytest.fixture
def outage(home: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """The store takes two cells, and nothing after them, until the returned function is called."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(patience, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(patience, "SECONDS_BETWEEN_ATTEMPTS", 0.0)
    from mlflow import MlflowClient

    whole, count = MlflowClient.create_run, [0]

    def create_run(*arguments: Any, **options: Any) -> Any:
        count[0] += options["tags"]["dpbench.kind"] == "cell"
        if count[0] > 2:
            raise MlflowException("the server closed the connection unexpectedly", TEMPORARILY_UNAVAILABLE)
        return whole(*arguments, **options)

    monkeypatch.setattr(MlflowClient, "create_run", create_run)
    return lambda: monkeypatch.setattr(MlflowClient, "create_run", whole)


def test_cells_that_cannot_be_delivered_are_kept_and_the_same_command_delivers_them(
    home: Any, outage: Callable[[], None]
) -> None:
    answer = home.run(*PAIR)
    assert (answer.code, answer.out) == (1, "")
    sentences = [line for line in answer.err.splitlines() if not line.startswith("cells")]
    assert len(sentences) == 1, answer.err
    assert "closed the connection unexpectedly. Finished cells are kept in" in sentences[-1]
    assert (home.folder / "mlflow.undelivered").is_dir()
    outage()
    again = home.run(*PAIR)
    assert again.counted == "Cells: 0 run, 4 already recorded (rerun=true runs them again)."
    assert not (home.folder / "mlflow.undelivered").exists()
    assert records_a_cell(home.folder) == [1] * 4
    assert {run.info.status for run in home.runs()} == {"FINISHED"}
    (finished,) = [run for run in home.runs("sweep") if run.info.status == "FINISHED"]
    assert {run.data.tags["mlflow.parentRunId"] for run in home.runs()} == {finished.info.run_id}


def test_kept_cells_are_delivered_at_the_end_if_the_store_is_back_by_then(
    home: Any, outage: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = recording.Recording.close

    def back(self: Any) -> None:
        outage()
        whole(self)

    monkeypatch.setattr(recording.Recording, "close", back)
    answer = home.run(*PAIR)
    assert answer.code == 0, answer.err
    assert answer.counted == "Cells: 4 run."
    assert records_a_cell(home.folder) == [1] * 4
    assert not (home.folder / "mlflow.undelivered").exists()


def test_with_rerun_nothing_is_taken_from_others(home: Any) -> None:
    assert home.run(*PAIR).code == 0
    with open_store(f"sqlite:///{home.folder / 'mlflow.db'}") as store, closing(claims_on(store, None)) as claims:
        claims.take([run.data.tags["dpbench.key"] for run in home.runs()])
        assert home.run(*PAIR, "rerun=true").counted == "Cells: 4 run."
    assert records_a_cell(home.folder) == [2] * 4


def test_a_record_that_rerun_replaces_does_not_make_the_new_one_a_duplicate(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a store without locks, as a server is one, a sweep marks cells that another one recorded at the same moment."""
    monkeypatch.setattr(execution, "claims_on", _ListedClaims)
    assert home.run(*PAIR).counted == "Cells: 4 run."
    assert home.run(*PAIR, "rerun=true").counted == "Cells: 4 run."
    assert records_a_cell(home.folder) == [2] * 4
    assert [run.data.tags.get("dpbench.duplicate_of") for run in home.runs()] == [None] * 8


def test_of_two_sweeps_without_locks_the_one_that_records_a_cell_later_marks_it(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "claims_on", _ListedClaims)
    whole = recording.Recording._keep

    def after_another_one(self: recording.Recording, record: Any) -> None:
        self._writer.write(record, None)
        whole(self, record)

    monkeypatch.setattr(recording.Recording, "_keep", after_another_one)
    assert home.run(*PAIR).counted == "Cells: 4 run."
    theirs = {run.info.run_id for run in home.runs() if "mlflow.parentRunId" not in run.data.tags}
    marks = [run.data.tags.get("dpbench.duplicate_of") for run in home.runs() if run.info.run_id not in theirs]
    assert sorted(marks) == sorted(theirs)
