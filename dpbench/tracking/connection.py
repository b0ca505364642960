"""Reach a tracking store of each kind quickly, make its tables once, and refuse one that cannot be used."""

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

ARTIFACTS = "mlartifacts"

_SECONDS = 5
"""How long a store may take to answer before it counts as unreachable."""

_DRIVERS = {
    "psycopg": "pip install 'psycopg[binary]' (or name the older driver: postgresql+psycopg2://)",
    "psycopg2": "pip install psycopg2-binary",
    "MySQLdb": "pip install mysqlclient (or name another driver: mysql+pymysql://)",
}


@contextmanager
def opening(uri: str, create: bool) -> Iterator[MlflowClient]:
    """A client of the store, which nobody else is making at the same time; whatever goes wrong is one sentence."""
    kind = _open_server if scheme(uri) in SERVERS else _open_sqlite if scheme(uri) == "sqlite" else _open_database
    with _refusing(uri), kind(uri, create) as client:
        yield client


def tidy(uri: str) -> None:
    """Fold the write-ahead log of a SQLite store that nobody has open any more back into its file."""
    path = sqlite_path(uri)
    if path and path.is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class Missing(Refused):
    """There is nothing in the store yet: whoever can do without it catches this, and nothing else that is wrong with a store."""


def missing(uri: str, what: str) -> Missing:
    """There is nothing to look at yet, and how to make something."""
    return Missing(
        f"There {what} in the tracking store {masked(uri)!r} yet. A first sweep makes some: "
        "python -m dpbench -m mechanism=fm,dpba epsilon=0.1,0.8,3.2"
    )


@contextmanager
def _refusing(uri: str) -> Iterator[None]:
    """Turn whatever a store answers to being opened into one sentence for the user."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:  # SQLAlchemy, its drivers, requests and MLflow each raise their own: all mean the same here
        raise Refused(f"The tracking store {masked(uri)!r} cannot be used: {_reason(error, uri)}.") from error


def _reason(error: Exception, uri: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"its driver {error.name} is not installed; {_DRIVERS.get(error.name or '', f'pip install {error.name}')}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror} ({Path(error.filename).parent})"
    words = "nobody answers there" if _unreachable(error) else _first_line(error)
    password = password_of(uri)
    return (words.replace(password, "***") if password else words).rstrip(". ")


def _unreachable(error: Exception) -> bool:
    return "Max retries exceeded" in str(error) or "Connection refused" in str(error)


def _first_line(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def _open_server(uri: str, create: bool) -> Iterator[MlflowClient]:
    """A server must answer quickly at first; later it is given more time."""
    from mlflow import MlflowClient

    patience = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": ("0", "4"), "MLFLOW_HTTP_REQUEST_TIMEOUT": (str(_SECONDS), "60")}
    before = {name: os.environ.get(name) for name in patience}
    os.environ.update({name: first for name, (first, _) in patience.items()})
    try:
        yield MlflowClient(tracking_uri=uri)
    finally:
        os.environ.update({name: before[name] or later for name, (_, later) in patience.items()})


@contextmanager
def _open_database(uri: str, create: bool) -> Iterator[MlflowClient]:
    """Connect once by ourselves, since MLflow would retry for minutes, and let one process at a time make the tables."""
    import sqlalchemy
    from mlflow import MlflowClient

    backend = scheme(uri)
    timeout = {"connect_timeout": _SECONDS} if backend in ("postgresql", "mysql") else {}
    engine = sqlalchemy.create_engine(uri, poolclass=sqlalchemy.NullPool, connect_args=timeout)
    with engine.connect() as connection:
        if backend == "postgresql":
            connection.execute(sqlalchemy.text("SELECT pg_advisory_lock(hashtext('dpbench'))"))
        tables = sqlalchemy.inspect(connection).get_table_names()
        if not create and "experiments" not in tables:
            raise missing(uri, "are no runs")
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
            raise missing(uri, "are no runs")
        _make_sqlite(path)
    with closing(sqlite3.connect(path, timeout=_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        known = "alembic_version" in tables
        versions = [row[0] for row in connection.execute("SELECT version_num FROM alembic_version")] if known else []
        connection.execute("ROLLBACK")
        if tables and not known:
            raise Refused(f"The tracking store {uri!r} is the database of another program: it holds the table {min(tables)!r}.")
        _check_schema(versions, uri)
        with suppress(sqlite3.OperationalError):  # faster, but not worth a refusal while somebody else reads
            connection.execute("PRAGMA journal_mode=WAL")
        yield MlflowClient(tracking_uri=uri)


def _make_sqlite(path: Path) -> None:
    """Make the store aside and link it into place: whoever is first wins, and a half-made one is never seen.

    Processes that let MLflow create one file together break it for good.
    """
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    path.parent.mkdir(parents=True, exist_ok=True)
    neighbour = path.with_name(f".{path.name}.{os.getpid()}")
    neighbour.touch()
    try:
        with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
            made = Path(folder, "mlflow.db")
            store: Any = SqlAlchemyStore  # MLflow does not type it
            store(f"sqlite:///{made}", (path.parent / ARTIFACTS).as_uri()).engine.dispose()
            shutil.copyfile(made, neighbour)
        with suppress(FileExistsError):
            _link(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)


def _link(source: Path, target: Path) -> None:
    """Give a file a second name unless the name is taken; where the file system has no links, rename it."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        if not target.exists():
            os.replace(source, target)


def _check_schema(versions: list[str], uri: str) -> None:
    """Refuse a database that this MLflow would neither read nor upgrade by itself."""
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
