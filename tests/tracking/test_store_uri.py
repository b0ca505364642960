"""The URI of a store is checked before anything is opened, and never printed with its password."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.tracking.store_uri import masked, resolved, scheme, sqlite_path, without_login


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
        resolved(uri)


def test_passwords_are_never_shown() -> None:
    assert masked("postgresql://me:s3cret@host/x") == "postgresql://me:***@host/x"
    assert (
        masked("postgresql://host/x?user=me&password=s3cret&sslmode=on") == "postgresql://host/x?user=me&password=***&sslmode=on"
    )
    assert masked("sqlite:////home/me/mlflow.db") == "sqlite:////home/me/mlflow.db"


def test_a_relative_file_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolved("sqlite:///mlflow.db") == f"sqlite:///{tmp_path}/mlflow.db"
    assert sqlite_path(resolved("sqlite:///mlflow.db")) == tmp_path / "mlflow.db"


def test_a_server_is_not_a_file_and_its_login_can_be_left_out() -> None:
    assert sqlite_path("http://host:5000") is None
    assert resolved("http://host:5000/") == "http://host:5000"
    assert without_login("https://me:s3cret@host:5000") == "https://host:5000"


def test_the_scheme_has_no_driver() -> None:
    assert scheme("postgresql+psycopg2://host/x") == "postgresql"


def test_a_tilde_stands_for_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolved("sqlite:///~/x.db") == f"sqlite:///{tmp_path}/x.db"
