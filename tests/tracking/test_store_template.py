"""A new store is a copy of an empty one in the cache folder: the same tables, and nothing of who made them first."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dpbench.tracking import store_template
from dpbench.tracking.connection import _check_schema
from dpbench.tracking.store import open_store

OPEN_AND_EXIT = "from dpbench.tracking.store import open_store; print(open_store().experiment_id)"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the templates, which is empty."""
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "1" / "stores"


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What MLflow makes of an empty file, which takes it a second or two."""
    path = tmp_path_factory.mktemp("migrated") / "mlflow.db"
    path.touch()
    store_template._migrate(path)
    return path


@pytest.fixture
def migrations(migrated: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that MLflow was asked to migrate."""
    paths: list[Path] = []
    monkeypatch.setattr(store_template, "_migrate", lambda path: (paths.append(path), shutil.copyfile(migrated, path)))
    return paths


def dump(path: Path) -> list[str]:
    """Return everything that is in a database, without what the tables say of their own creation."""
    with closing(sqlite3.connect(path)) as connection:
        return [line for line in connection.iterdump() if not line.startswith('INSERT INTO "experiments"')]


def tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def default_experiment(path: Path) -> tuple[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT artifact_location, creation_time FROM experiments WHERE experiment_id = 0").fetchone()


def new_store(folder: Path) -> Path:
    folder.mkdir()
    open_store(f"sqlite:///{folder}/mlflow.db").close()
    return folder / "mlflow.db"


def test_a_copied_store_equals_a_migrated_one_but_for_its_address_and_time(
    cache: Path, tmp_path: Path, migrations: list[Path]
) -> None:
    first, second = new_store(tmp_path / "first"), new_store(tmp_path / "second")
    assert len(migrations) == 1
    assert dump(first) == dump(second)
    addresses, times = zip(*map(default_experiment, (first, second)), strict=True)
    assert addresses == (f"{tmp_path.as_uri()}/first/mlartifacts/0", f"{tmp_path.as_uri()}/second/mlartifacts/0")
    assert times[0] < times[1]


@pytest.mark.usefixtures("migrations")
def test_a_template_is_empty_and_names_no_folder_of_its_maker(cache: Path, tmp_path: Path) -> None:
    new_store(tmp_path / "first")
    (template,) = cache.iterdir()
    assert os.fsencode(tmp_path) not in template.read_bytes()
    assert default_experiment(template)[0] == "file:///dpbench-template/0"
    with closing(sqlite3.connect(template)) as connection:
        filled = {name for name in tables(template) if connection.execute(f'SELECT count(*) FROM "{name}"').fetchone() != (0,)}
    assert filled == {"alembic_version", "experiments", "workspaces"}


@pytest.mark.parametrize("content", ["half", "another program's", "of another store"])
def test_a_template_that_is_broken_or_foreign_is_made_anew(
    cache: Path, tmp_path: Path, migrations: list[Path], content: str
) -> None:
    good = new_store(tmp_path / "first")
    (template,) = cache.iterdir()
    whole = template.read_bytes()
    if content == "half":
        template.write_bytes(whole[: len(whole) // 2])
    elif content == "of another store":
        template.write_bytes(good.read_bytes())
    else:
        template.unlink()
        with closing(sqlite3.connect(template)) as connection:
            connection.execute("CREATE TABLE customers (name TEXT)")
    assert dump(new_store(tmp_path / "second")) == dump(good)
    assert len(migrations) == 2
    assert [file.stat().st_size for file in cache.iterdir()] == [len(whole)]
    new_store(tmp_path / "third")
    assert len(migrations) == 2


def test_a_template_with_the_right_digest_and_no_tables_is_not_used(cache: Path, tmp_path: Path, migrations: list[Path]) -> None:
    good = new_store(tmp_path / "first")
    (template,) = cache.iterdir()
    template.write_bytes(b"no database" * 100)
    template.rename(cache / f"{template.stem.rpartition('-')[0]}-{store_template._digest(template)}.db")
    assert dump(new_store(tmp_path / "second")) == dump(good)


def test_a_template_of_another_mlflow_is_left_alone(cache: Path, tmp_path: Path, migrations: list[Path]) -> None:
    cache.mkdir(parents=True)
    other = cache / "mlflow-2.0.0-abc-0123456789abcdef.db"
    other.write_text("of an older version")
    new_store(tmp_path / "first")
    assert other.read_text() == "of an older version"
    assert len(list(cache.iterdir())) == 2


def test_without_a_cache_folder_every_store_is_migrated(cache: Path, tmp_path: Path, migrations: list[Path]) -> None:
    cache.parent.parent.write_text("a file where the cache should be")
    new_store(tmp_path / "first")
    new_store(tmp_path / "second")
    assert len(migrations) == 2


@pytest.mark.usefixtures("cache", "migrations")
def test_the_revision_of_a_template_is_the_one_that_mlflow_creates(tmp_path: Path) -> None:
    assert store_template.template_revision() is None
    with closing(sqlite3.connect(new_store(tmp_path / "first"))) as connection:
        versions = [version for (version,) in connection.execute("SELECT version_num FROM alembic_version")]
    assert versions == [store_template.template_revision()]
    _check_schema(versions, "sqlite:///mlflow.db")


def test_processes_that_open_new_stores_at_once_each_get_a_whole_one(cache: Path, tmp_path: Path) -> None:
    folders = [tmp_path / f"of process {index}" for index in range(3)]
    for folder in folders:
        folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "-c", OPEN_AND_EXIT]
    processes = [subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE) for folder in folders]
    assert [process.communicate(timeout=120)[0] for process in processes] == [b"1\n"] * 3
    assert len({table for folder in folders for table in tables(folder / "mlflow.db")}) == len(tables(folders[0] / "mlflow.db"))
    assert all(store_template._is_intact(template) for template in cache.iterdir())
