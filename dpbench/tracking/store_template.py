"""Fill a new SQLite store with MLflow's tables: a copy of a template in the cache folder, because migrating takes a second.

A template is an empty store, made once for each version of MLflow. Its name ends with a digest of its bytes, so a file that is
broken, or that somebody else wrote, is ignored and made anew.
"""

import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dpbench.files.download_cache import cache_folder, sha256

_NEUTRAL_ADDRESS = "file:///dpbench-template"
"""Where the files of a template's runs would be: a template names no folder of the user who happened to make it."""
_DIGEST_CHARACTERS = 16


def fill_new_store(path: Path, artifacts: str) -> None:
    """Give an empty file MLflow's tables, with the address of its runs' files. Only the caller may know the file."""
    if not _copied(path, artifacts):
        _migrate(path)
        _keep_as_template(path)
        _set_address(path, artifacts)


def template_revision() -> str | None:
    """Return the schema that the installed MLflow creates, if there is a template of it: to ask MLflow takes half a second."""
    template = _template()
    return template.stem.split("-")[-2] if template else None


def _template() -> Path | None:
    """Return the template of the installed MLflow; None if there is no intact one."""
    with suppress(OSError, PackageNotFoundError):
        for file in sorted(cache_folder("stores").glob(f"mlflow-{version('mlflow')}-*-*.db")):
            if _is_intact(file):
                return file
    return None


def _copied(path: Path, artifacts: str) -> bool:
    """Return whether the file could be filled from a template."""
    template = _template()
    if template is None:
        return False
    try:
        shutil.copyfile(template, path)
        _set_address(path, artifacts)
    except (OSError, sqlite3.Error):  # the template was removed, or is one of another program
        os.truncate(path, 0)
        return False
    return True


def _migrate(path: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store: Any = SqlAlchemyStore  # MLflow has no type annotations for it
    store(f"sqlite:///{path}", _NEUTRAL_ADDRESS).engine.dispose()


def _keep_as_template(path: Path) -> None:
    """Copy a new store to the cache folder, under its final name at once. Without a cache the next store is migrated again."""
    folder = cache_folder("stores")
    with suppress(OSError, sqlite3.Error, PackageNotFoundError):
        with closing(sqlite3.connect(path)) as connection:
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        prefix = f"mlflow-{version('mlflow')}-{revision}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as unfinished:
            copy = Path(unfinished, path.name)
            shutil.copyfile(path, copy)
            os.replace(copy, folder / f"{prefix}-{_digest(copy)}.db")
        for broken in folder.glob(f"{prefix}-*.db"):
            if not _is_intact(broken):
                broken.unlink()


def _set_address(path: Path, artifacts: str) -> None:
    """Make an empty store the user's own: created now, with its runs' files in the user's folder."""
    address = "artifact_location = replace(artifact_location, ?, ?)"
    with closing(sqlite3.connect(path)) as connection, connection:
        now = time.time_ns() // 1_000_000
        values = [_NEUTRAL_ADDRESS, artifacts, now, now]
        connection.execute(f"UPDATE experiments SET {address}, creation_time = ?, last_update_time = ?", values)


def _is_intact(template: Path) -> bool:
    return template.stem.endswith(f"-{_digest(template)}")


def _digest(path: Path) -> str:
    return sha256(path)[:_DIGEST_CHARACTERS]
