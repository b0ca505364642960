"""PostgreSQL is a store like SQLite, also when two processes meet an empty one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import open_store

OPEN = "import sys; from dpbench.tracking.store import open_store; print(open_store(sys.argv[1]).experiment_id)"


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    """An empty database on a Unix socket in a folder of its own."""
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    servers: Any = sys.modules["store_servers"]
    if reason := servers.Postgres.why_not():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        server = servers.Postgres(Path(folder))
        yield server.uri
        server.stop()


def test_processes_that_open_an_empty_database_together_share_it(uri: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", OPEN, uri]
    started = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert said[0] == said[1]


def test_a_cell_is_written_and_found_again(
    uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make_record: Callable[..., CellRecord],
    ids: Callable[..., dict[str, str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store(uri, "written") as store, Writer(store) as writer:
        parent = writer.open_sweep("s1", "a sweep", SweepRecord((), "command"), "note\n" * 3_000)
        run_id = writer.write(make_record(), parent).run_id
        writer.close_sweep(parent, "FINISHED", "note\n" * 3_000)
        assert ids(writer.finished(["a1", "b2"])) == {"a1": run_id}
        assert len(store.client.get_run(parent).data.tags["mlflow.note.content"]) <= 8_000
    assert [path.name for path in tmp_path.iterdir()] == ["mlartifacts"]


def test_a_database_that_does_not_exist_is_refused_by_its_name(uri: str) -> None:
    with pytest.raises(Refused, match='database "absent" does not exist'):
        open_store(uri.replace("/mlflow?", "/absent?"))
