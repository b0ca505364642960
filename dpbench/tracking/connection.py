"""Connect to a tracking store of any kind within seconds, create its tables once, and refuse one that cannot be used."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.errors import Refused
from dpbench.tracking.store_uri import SERVERS, masked, password_of, scheme, sqlite_path

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACT_FOLDER = "mlartifacts"

_TIMEOUT_SECONDS = 5
"""A store that does not answer for this long is unreachable."""

_DRIVERS = {
    "psycopg": "pip install 'psycopg[binary]' (or name the older driver: postgresql+psycopg2://)",
    "psycopg2": "pip install psycopg2-binary",
    "MySQLdb": "pip install mysqlclient (or name another driver: mysql+pymysql://)",
}


@contextmanager
def connected(uri: str, create: bool) -> Iterator[MlflowClient]:
    """Yield a client of the store while no other process can create it; every failure is refused with one sentence."""
    kind = _open_server if scheme(uri) in SERVERS else _open_sqlite if scheme(uri) == "sqlite" else _open_database
    with _refusing(uri), kind(uri, create) as client:
        yield client


def merge_write_ahead_log(uri: str) -> None:
    """Merge the write-ahead log of a SQLite store into its file, if no process has the store open."""
    path = sqlite_path(uri)
    if path and path.is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Missing(Refused):
    """The store holds nothing yet. Callers that can work without a record catch this and no other refusal."""

    def __init__(self, uri: str, what: str) -> None:
        super().__init__(
            f"There {what} in the tracking store {masked(uri)!r} yet. A first sweep creates them: "
            "python -m dpbench -m mechanism=fm,dpba epsilon=0.1,0.8,3.2"
        )


@contextmanager
def _refusing(uri: str) -> Iterator[None]:
    """Turn every error of an opening store into one sentence for the user."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:  # SQLAlchemy, its drivers, requests and MLflow each raise their own
        raise Refused(f"The tracking store {masked(uri)!r} cannot be used: {_reason(error, uri)}.") from error


def _reason(error: Exception, uri: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"its driver {error.name} is not installed; {_DRIVERS.get(error.name or '', f'pip install {error.name}')}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror} ({Path(error.filename).parent})"
    unreachable = "Max retries exceeded" in str(error) or "Connection refused" in str(error)
    words = "no server answers there" if unreachable else _first_line(error)
    password = password_of(uri)
    return (words.replace(password, "***") if password else words).rstrip(". ")


def _first_line(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _open_server(uri: str, create: bool) -> Iterator[MlflowClient]:
    """Give a server little time for its first answer, and more time later."""
    from mlflow import MlflowClient

    limits = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": ("0", "4"), "MLFLOW_HTTP_REQUEST_TIMEOUT": (str(_TIMEOUT_SECONDS), "60")}
    before = {name: os.environ.get(name) for name in limits}
    os.environ.update({name: first for name, (first, _) in limits.items()})
    try:
        yield MlflowClient(tracking_uri=uri)
    finally:
        os.environ.update({name: before[name] or later for name, (_, later) in limits.items()})


@contextmanager
def _open_database(uri: str, create: bool) -> Iterator[MlflowClient]:
    """Connect once without MLflow, which would retry for minutes, and let one process at a time create the tables."""
    import sqlalchemy
    from mlflow import MlflowClient

    backend = scheme(uri)
    timeout = {"connect_timeout": _TIMEOUT_SECONDS} if backend in ("postgresql", "mysql") else {}
    engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool, connect_args=timeout)
    with engine.connect() as connection:
        if backend == "postgresql":
            connection.execute(sqlalchemy.text("SELECT pg_advisory_lock(hashtext('dpbench'))"))
        tables = sqlalchemy.inspect(connection).get_table_names()
        if not create and "experiments" not in tables:
            raise Missing(uri, "are no runs")
        if "alembic_version" in tables:
            rows = connection.execute(sqlalchemy.text("SELECT version_num FROM alembic_version"))
            _check_schema([str(row[0]) for row in rows], uri)
        yield MlflowClient(tracking_uri=uri)


@contextmanager
def _open_sqlite(uri: str, create: bool) -> Iterator[MlflowClient]:
    from mlflow import MlflowClient

    path = sqlite_path(uri)
    assert path is not None
    if not path.exists():
        if not create:
            raise Missing(uri, "are no runs")
        _create_sqlite(path)
    with closing(sqlite3.connect(path, timeout=_TIMEOUT_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        known = "alembic_version" in tables
        versions = [row[0] for row in connection.execute("SELECT version_num FROM alembic_version")] if known else []
        connection.execute("ROLLBACK")
        if tables and not known:
            raise Refused(f"The tracking store {uri!r} is the database of another program: it holds the table {min(tables)!r}.")
        _check_schema(versions, uri)
        with suppress(sqlite3.OperationalError):  # faster, but not worth a refusal while another process reads
            connection.execute("PRAGMA journal_mode=WAL")
        yield MlflowClient(tracking_uri=uri)


def _create_sqlite(path: Path) -> None:
    """Create the store elsewhere and link it into place: the first process wins, and no process sees an incomplete store.

    Two processes that let MLflow create the same file break it for good.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path.parent.mkdir(parents=True, exist_ok=True)
    neighbour = path.with_name(f".{path.name}.{os.getpid()}")
    neighbour.touch()
    try:
        with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
            created = Path(folder, "mlflow.db")
            store: Any = SqlAlchemyStore  # MLflow has no type annotations for it
            store(f"sqlite:///{created}", (path.parent / ARTIFACT_FOLDER).as_uri()).engine.dispose()
            shutil.copyfile(created, neighbour)
        try:
            os.link(neighbour, path)
        except OSError:  # the name exists, or the file system has no links
            if not path.exists():
                os.replace(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)


def _check_schema(versions: list[str], uri: str) -> None:
    """Refuse a database that the installed MLflow neither reads nor upgrades by itself."""
    import mlflow
    from alembic.script import ScriptDirectory

    installed = f"the installed {mlflow.__version__}"
    scripts = ScriptDirectory(str(Path(mlflow.__file__).parent / "store" / "db_migrations"))
    known = {script.revision for script in scripts.walk_revisions()}
    heads = set(scripts.get_heads())
    if any(version not in known for version in versions):
        raise Refused(f"The tracking store {masked(uri)!r} was written by a newer MLflow than {installed}: upgrade mlflow.")
    if versions and not heads.issuperset(versions):
        raise Refused(
            f"The tracking store {masked(uri)!r} was written by an older MLflow than {installed}: "
            "save a copy of it, then run mlflow db upgrade on it."
        )
