"""A store that cannot be used is refused within seconds, in one sentence, and left alone."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.tracking import connection as connection_module
from dpbench.tracking.store import open_store


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_server_nobody_runs_is_refused_by_its_address_without_the_password() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but not listening: refused at once
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Refused, match="no server answers there") as refusal:
            open_store(f"http://me:secret@{address}")
    assert f"http://me:***@{address}" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_a_server_that_never_answers_is_refused_after_a_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_TIMEOUT_SECONDS", 1)
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
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "0", "dpbench repeats requests itself, in one place"


def test_a_database_whose_driver_is_missing_says_what_to_install() -> None:
    try:
        import MySQLdb  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(Refused, match="driver MySQLdb is not installed; pip install mysqlclient"):
            open_store("mysql://me:secret@127.0.0.1/x")
    else:
        pytest.skip("mysqlclient is installed")


@pytest.mark.parametrize("folder", ["file", "nope", "nope/nope"])
def test_a_store_outside_an_existing_folder_is_refused_and_no_folder_is_made(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="The tracking store must lie in an existing folder"):
        open_store(f"sqlite:///{tmp_path}/{folder}/mlflow.db")
    assert files(tmp_path) == ["file"]


def test_an_empty_file_is_not_taken_for_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").touch()
    with pytest.raises(Refused, match="is an empty file"):
        open_store(f"sqlite:///{tmp_path}/mlflow.db")
    assert (tmp_path / "mlflow.db").stat().st_size == 0


def test_a_server_that_answers_with_errors_is_not_taken_for_none() -> None:
    class Broken(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(500)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(Refused, match="the server answers with the HTTP error 500"):
            open_store(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


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
    monkeypatch.setattr(connection_module, "_LOCK_SECONDS", 0.1)
    shutil.copy(database, tmp_path / "mlflow.db")
    connection = sqlite3.connect(tmp_path / "mlflow.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(Refused, match="database is locked"):
            open_store(f"sqlite:///{tmp_path}/mlflow.db")
    finally:
        connection.close()


def test_a_store_may_take_five_seconds_to_answer() -> None:
    assert connection_module._TIMEOUT_SECONDS == 5


def test_reading_a_store_leaves_its_file_untouched(database: Path) -> None:
    before = database.read_bytes(), files(database.parent)
    open_store(f"sqlite:///{database}", "dpbench", create=False).close()
    assert (database.read_bytes(), files(database.parent)) == before


def test_what_a_process_left_that_was_killed_while_it_created_a_store_is_removed(tmp_path: Path) -> None:
    abandoned, fresh, foreign = (tmp_path / f".dpbench-{name}" for name in ("abandoned", "fresh", "foreign"))
    for folder, file in ((abandoned, "mlflow.db-journal"), (fresh, "mlflow.db"), (foreign, "notes.txt")):
        folder.mkdir()
        (folder / file).touch()
    for folder in (abandoned, foreign):
        os.utime(folder, (0, 0))
    open_store(f"sqlite:///{tmp_path / 'mlflow.db'}").close()
    assert files(tmp_path) == [".dpbench-foreign", ".dpbench-fresh", "mlflow.db"]
