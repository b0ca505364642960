"""A store is made once, leaves one file behind, and is refused in one sentence when it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow.exceptions import MlflowException

from dpbench.base.errors import Refused
from dpbench.tracking.store import Store, open_store

OPEN_AND_EXIT = """
import os, sys
from dpbench.tracking.store import open_store
store = open_store(None, "together")
store.client.create_run(store.experiment_id)
print(store.experiment_id)
"""


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_the_default_store_is_one_file_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    with open_store() as store:
        assert store.uri == f"sqlite:///{tmp_path}/mlflow.db"
        experiment = store.client.get_experiment(store.experiment_id)
    assert experiment.name == "dpbench"
    assert experiment.artifact_location == (tmp_path / "mlartifacts").as_uri()
    assert files(tmp_path) == ["mlflow.db"]


def test_the_environment_names_the_store_when_the_user_does_not(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    with open_store() as store:
        assert store.uri == f"sqlite:///{database}"
    assert files(tmp_path) == []


def test_a_store_is_in_wal_mode_and_its_log_is_gone_when_it_is_closed(store: Store, database: Path) -> None:
    store.client.create_run(store.experiment_id)
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert "mlflow.db-wal" in files(database.parent)
    store.close()
    assert not [name for name in files(database.parent) if name not in ("mlflow.db", "mlartifacts")]


def test_processes_that_open_a_fresh_store_together_share_it_and_leave_nothing_behind(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "-c", OPEN_AND_EXIT]
    started = [
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert said[0] == said[1], "the same experiment, and no chatter"
    assert files(tmp_path) == ["mlflow.db"], "neither of them closed the store: leaving the program does"
    with open_store(f"sqlite:///{tmp_path}/mlflow.db", "together", create=False) as store:
        assert len(store.client.search_runs([store.experiment_id])) == 2


def test_a_deleted_experiment_is_refused_with_the_way_back(store: Store) -> None:
    store.client.delete_experiment(store.experiment_id)
    with pytest.raises(Refused, match=f"was deleted: restore it with mlflow experiments restore -x {store.experiment_id}"):
        open_store(store.uri, store.experiment)


def test_nothing_is_made_when_a_store_is_only_to_be_read(database: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"There are no runs in .* yet. A first sweep creates them: python -m dpbench -m"):
        open_store(f"sqlite:///{tmp_path}/mlflow.db", create=False)
    assert files(tmp_path) == []
    with pytest.raises(Refused, match="There is no experiment 'absent'"):
        open_store(f"sqlite:///{database}", "absent", create=False)


def test_an_experiment_that_another_process_opens_at_the_same_moment_is_opened(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow looks for a tag, and inserts it if it is not there: of two processes one fails."""
    from mlflow import MlflowClient

    whole = MlflowClient.set_experiment_tag
    calls: list[str] = []

    def beaten(client: MlflowClient, experiment_id: str, *tag: str) -> None:
        calls.append(experiment_id)
        if len(calls) == 1:
            whole(client, experiment_id, *tag)
            raise MlflowException("UNIQUE constraint failed: experiment_tags.key, experiment_tags.experiment_id")
        whole(client, experiment_id, *tag)

    monkeypatch.setattr(MlflowClient, "set_experiment_tag", beaten)
    with open_store(f"sqlite:///{database}", "opened by two") as store:
        assert store.client.get_experiment(store.experiment_id).tags["dpbench.kind"] == "experiment"
    assert len(calls) == 2
