"""Connect to a tracking store of any kind within seconds, create its tables once, and refuse one that cannot be used."""

import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from dpbench.base.errors import Refused
from dpbench.tracking.artifact_folders import ARTIFACT_FOLDER, follow_store
from dpbench.tracking.store_template import fill_new_store, template_revision
from dpbench.tracking.store_uri import SERVERS, masked, password_of, scheme, sqlite_path

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from sqlalchemy import Connection, Engine

_CREATION_PREFIX = ".dpbench-"
_MAX_CREATION_SECONDS = 900
"""A store that is still incomplete after this time is abandoned, whatever machine created it."""

_TIMEOUT_SECONDS = 5
"""A store that does not answer for this long is unreachable."""
_LOCK_SECONDS = 60
"""How long a SQLite file may be locked by other processes: dozens that open it at the same time take turns."""

_DRIVERS = {
    "psycopg": "pip install 'psycopg[binary]' (or name the older driver: postgresql+psycopg2://)",
    "psycopg2": "pip install psycopg2-binary",
    "MySQLdb": "pip install mysqlclient (or name another driver: mysql+pymysql://)",
}


_NO_ANSWER = ("Max retries exceeded", "Connection refused", "Connection broken", "Connection aborted", "Read timed out")

_TIMEOUT_OPTIONS = {"sqlite": "timeout", "postgresql": "connect_timeout", "mysql": "connect_timeout"}

_LOCKS = {"sqlite": "BEGIN IMMEDIATE", "postgresql": "SELECT pg_advisory_lock(hashtext('dpbench'))"}
"""What makes every other process wait until this one has closed its connection."""


@contextmanager
def connected(uri: str, create: bool) -> Iterator["MlflowClient"]:
    """Yield a client of the store while no other process can create it; every failure is refused with one sentence."""
    with _failures_refused(uri), (_open_server if scheme(uri) in SERVERS else _open_database)(uri, create) as client:
        yield client


@contextmanager
def reading(uri: str) -> Iterator["Connection"]:
    """Yield a connection to a database that has MLflow's tables, without importing MLflow; every failure is refused."""
    with _failures_refused(uri):
        _check_file(uri, create=False)
        engine = database_engine(readable(uri))
        try:
            with engine.connect() as connection:
                if "experiments" not in _tables(connection, uri):
                    raise Missing(uri, "are no runs")
                yield connection
        finally:
            engine.dispose()


def database_engine(uri: str) -> "Engine":
    """Return SQLAlchemy's engine for a database, which gives up soon if nobody answers."""
    import sqlalchemy

    backend = scheme(uri)
    patience = {"sqlite": _LOCK_SECONDS, "postgresql": _TIMEOUT_SECONDS, "mysql": _TIMEOUT_SECONDS}
    timeout = {_TIMEOUT_OPTIONS[backend]: patience[backend]} if backend in _TIMEOUT_OPTIONS else {}
    return sqlalchemy.create_engine(uri, pool_pre_ping=True, connect_args=timeout)


@contextmanager
def _failures_refused(uri: str) -> Iterator[None]:
    try:
        yield
    except Refused:
        raise
    except Exception as error:  # SQLAlchemy, its drivers, requests and MLflow each raise their own
        raise Refused(f"The tracking store {masked(uri)!r} cannot be used: {reason_of(error, uri)}.") from error


def merge_write_ahead_log(uri: str) -> None:
    """Merge the write-ahead log of a SQLite store into its file, if no process has the store open."""
    path = sqlite_path(uri)
    if path and path.is_file():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def readable(uri: str) -> str:
    """Return the URI to read a store with: it is another one for a SQLite file that this process cannot write."""
    path = sqlite_path(uri)
    if not path or not path.is_file() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return uri
    # without a write-ahead log nobody is writing, and SQLite need not create the files that readers and writers share
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    # not sqlite:///, for which MLflow would make a folder named "file:"
    return f"sqlite+pysqlite:///file:{quote(str(path))}?{mode}&uri=true"


class Missing(Refused):
    """The store holds nothing yet. Callers that can work without a record catch this and no other refusal."""

    def __init__(self, uri: str, what: str) -> None:
        super().__init__(
            f"There {what} in the tracking store {masked(uri)!r} yet. A first sweep creates them: "
            "python -m dpbench -m mechanism=fm,dpba epsilon=0.1,0.8,3.2"
        )


def reason_of(error: Exception, uri: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"its driver {error.name} is not installed; {_DRIVERS.get(error.name or '', f'pip install {error.name}')}"
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.strerror} ({Path(error.filename).parent})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if status := re.search(r"too many (\d+) error responses", str(error)):
        return f"the server answers with the HTTP error {status[1]}"
    if any(words in str(error) for words in _NO_ANSWER):
        return "no server answers there"
    cause, password = getattr(error, "orig", None) or error, password_of(uri)
    first_line = str(cause).strip().partition("\n")[0] or type(error).__name__
    first_line = re.sub(r"^\([\w.]+\) ", "", first_line)  # the name of the driver's own error
    return (first_line.replace(password, "***") if password else first_line).rstrip(". ")


@contextmanager
def _open_server(uri: str, create: bool) -> Iterator["MlflowClient"]:
    """Give a server little time for its first answer, and more time later. What it does not answer is repeated elsewhere."""
    from mlflow import MlflowClient

    limits = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": ("0", "0"), "MLFLOW_HTTP_REQUEST_TIMEOUT": (str(_TIMEOUT_SECONDS), "60")}
    before = {name: os.environ.get(name) for name in limits}
    os.environ.update({name: first for name, (first, _) in limits.items()})
    try:
        yield MlflowClient(tracking_uri=uri)
    finally:
        os.environ.update({name: before[name] or later for name, (_, later) in limits.items()})


@contextmanager
def _open_database(uri: str, create: bool) -> Iterator["MlflowClient"]:
    """Connect once without MLflow, which would retry for minutes, and let one process at a time create the tables."""
    import sqlalchemy
    from mlflow import MlflowClient

    backend, path = scheme(uri), sqlite_path(uri)
    _check_file(uri, create)
    if path and not path.exists():
        _create_sqlite(path)
    if path and create:
        _remove_leftovers(path)
    address = uri if create else readable(uri)
    engine = database_engine(address)
    try:
        with engine.connect() as connection:
            if backend in _LOCKS and (create or not path):  # a SQLite store appears complete, and its lock is a write
                connection.exec_driver_sql(_LOCKS[backend])
            tables = _tables(connection, uri)
            if "alembic_version" in tables:
                _check_schema(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all(), uri)
            if not create and "experiments" not in tables:
                raise Missing(uri, "are no runs")
            if path and create:
                if "experiments" in tables:
                    follow_store(connection, path)
                connection.commit()  # MLflow opens its own connection, which the lock would stop
                with suppress(sqlalchemy.exc.OperationalError):  # faster, but not worth a refusal while another process reads
                    connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            yield MlflowClient(tracking_uri=address)
    finally:
        engine.dispose()


def _check_file(uri: str, create: bool) -> None:
    """Refuse a SQLite store whose file is empty or, unless it may be created, missing."""
    path = sqlite_path(uri)
    if path and path.is_file() and not path.stat().st_size:
        raise Refused(f"The tracking store {str(path)!r} is an empty file: delete it, and a sweep creates the store.")
    if path and not path.exists() and not create:
        raise Missing(uri, "are no runs")


def _tables(connection: "Connection", uri: str) -> list[str]:
    """Return the names of a database's tables. A file with tables of another program is refused."""
    import sqlalchemy

    tables = sqlalchemy.inspect(connection).get_table_names()
    if tables and "alembic_version" not in tables and sqlite_path(uri):
        raise Refused(f"The tracking store {uri!r} is the database of another program: it holds the table {min(tables)!r}.")
    return tables


def _create_sqlite(path: Path) -> None:
    """Create the store elsewhere and link it into place: the first process wins, and no process sees an incomplete store.

    Two processes that let MLflow create the same file break it for good.
    """
    if not path.parent.is_dir():
        raise Refused(f"The tracking store must lie in an existing folder. Got {str(path.parent)!r} instead.")
    with tempfile.TemporaryDirectory(prefix=_CREATION_PREFIX, dir=path.parent) as folder:
        created = Path(folder, path.name)
        created.touch()  # SQLite itself would ignore the user's umask
        fill_new_store(created, (path.parent / ARTIFACT_FOLDER).as_uri())
        try:
            os.link(created, path)
        except OSError:  # the name exists, or the file system has no links
            if not path.exists():
                os.replace(created, path)


def _remove_leftovers(path: Path) -> None:
    """Remove the unfinished stores that killed processes left next to this one. A process that lives is done within seconds."""
    for folder in path.parent.glob(f"{_CREATION_PREFIX}*"):
        with suppress(OSError):  # another process is faster, or it belongs to somebody else
            old = time.time() - folder.stat().st_mtime > _MAX_CREATION_SECONDS
            if old and all(file.name.startswith(path.name) for file in folder.iterdir()):
                shutil.rmtree(folder)


def _check_schema(versions: Sequence[str], uri: str) -> None:
    """Refuse a database that the installed MLflow neither reads nor upgrades by itself."""
    if list(versions) == [template_revision()]:
        return
    import mlflow
    from alembic.script import ScriptDirectory

    installed = f"the installed {mlflow.__version__}"
    scripts = ScriptDirectory(str(Path(mlflow.__file__).parent / "store" / "db_migrations"))
    if not {script.revision for script in scripts.walk_revisions()}.issuperset(versions):
        raise Refused(f"The tracking store {masked(uri)!r} was written by a newer MLflow than {installed}: upgrade mlflow.")
    if not set(scripts.get_heads()).issuperset(versions):
        raise Refused(
            f"The tracking store {masked(uri)!r} was written by an older MLflow than {installed}: "
            "save a copy of it, then run mlflow db upgrade on it."
        )
