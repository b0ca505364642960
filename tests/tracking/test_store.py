"""A store is made once, leaves one file behind, and is refused in one sentence when it cannot be used."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.tracking import connection as opening
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.store_uri import masked

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


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("mlruns", "must be a URI of one of sqlite, postgresql, mysql, mssql, http, https"),
        ("ftp://host/store", "Got 'ftp://host/store' instead"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("http://", "must have a host"),
        ("postgresql://me:secret@host:port/x", r"'postgresql://me:\*\*\*@host:port/x'"),
        ("nosuch+driver://x", "must be a URI of one of"),
    ],
)
def test_what_is_no_address_of_a_store_is_refused(uri: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        open_store(uri)


def test_a_server_nobody_runs_is_refused_by_its_address_without_the_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening: refused at once
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Refused, match="no server answers there") as refusal:
            open_store(f"http://me:secret@{address}")
    assert f"http://me:***@{address}" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_a_server_that_never_answers_is_refused_after_a_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_TIMEOUT_SECONDS", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        with pytest.raises(Refused, match="no server answers there"):
            open_store(f"http://127.0.0.1:{silent.getsockname()[1]}")


def test_patience_with_a_server_is_short_only_while_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "17")
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", raising=False)
    with pytest.raises(Refused):
        open_store("http://127.0.0.1:1")
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "17", "what the user set stays"
    assert int(os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"]) > 0


def test_a_database_whose_driver_is_missing_says_what_to_install() -> None:
    try:
        import MySQLdb  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(Refused, match="driver MySQLdb is not installed; pip install mysqlclient"):
            open_store("mysql://me:secret@127.0.0.1/x")
    else:
        pytest.skip("mysqlclient is installed")


def test_a_folder_that_cannot_be_written_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"cannot be used: .*(directory|exists)"):
        open_store(f"sqlite:///{tmp_path}/file/mlflow.db")
    assert files(tmp_path) == ["file"]


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("no database " * 100)
    with pytest.raises(Refused, match=r"notes\.db' cannot be used: file is not a database"):
        open_store(f"sqlite:///{path}")
    assert path.read_text() == "no database " * 100
    assert files(tmp_path) == ["notes.db"]


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(Refused, match="another program: it holds the table 'customers'"):
        open_store(f"sqlite:///{tmp_path}/other.db")
    assert (tmp_path / "other.db").read_bytes() == before


@pytest.mark.parametrize(("version", "words"), [("ffffffffffff", "newer MLflow"), ("451aebb31d03", "older MLflow")])
def test_a_database_of_another_schema_is_refused(database: Path, tmp_path: Path, version: str, words: str) -> None:
    shutil.copy(database, tmp_path / "mlflow.db")
    connection = sqlite3.connect(tmp_path / "mlflow.db")
    connection.execute("UPDATE alembic_version SET version_num = ?", [version])
    connection.commit()
    connection.close()
    with pytest.raises(Refused, match=words):
        open_store(f"sqlite:///{tmp_path}/mlflow.db")


def test_a_database_somebody_keeps_locked_is_refused(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_TIMEOUT_SECONDS", 0.1)
    shutil.copy(database, tmp_path / "mlflow.db")
    connection = sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(Refused, match="database is locked"):
            open_store(f"sqlite:///{tmp_path}/mlflow.db")
    finally:
        connection.close()


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


def test_passwords_are_never_shown() -> None:
    assert masked("postgresql://me:s3cret@host/x") == "postgresql://me:***@host/x"
    assert (
        masked("postgresql://host/x?user=me&password=s3cret&sslmode=on") == "postgresql://host/x?user=me&password=***&sslmode=on"
    )
    assert masked("sqlite:////home/me/mlflow.db") == "sqlite:////home/me/mlflow.db"
