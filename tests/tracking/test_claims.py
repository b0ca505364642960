"""Of all processes one claims a cell, and its claim ends with it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.claims import LOCK_SUFFIX, _AdvisoryClaims, _FileClaims, _ListedClaims, claims_on
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store, open_store

HOLD = """
import sys
from dpbench.tracking.claims import claims_on
from dpbench.tracking.store import open_store
with open_store(sys.argv[1], sys.argv[2]) as store:
    claims = claims_on(store, None)
    print(*sorted(claims.take(sys.argv[3:])), flush=True)
    sys.stdin.readline()
    claims.close()
"""
"""Claim cells and hold them until a line comes in."""

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="the system has no byte locks")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.long, pytest.mark.slow])])
def locking(store: Store, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store whose claims are locks."""
    if request.param == "sqlite":
        yield store
        return
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    servers: Any = sys.modules["store_servers"]
    if reason := servers.Postgres.why_not():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="dpbench-") as folder, ExitStack() as end:
        server = servers.Postgres(Path(folder))
        end.callback(server.stop)
        with open_store(server.uri) as database:
            yield database


@pytest.fixture
def hold(locking: Store) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts processes that claim cells."""
    started: list[subprocess.Popen[str]] = []

    def start(*keys: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLD, locking.uri, locking.experiment, *keys]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def taken(process: subprocess.Popen[str]) -> set[str]:
    assert process.stdout is not None
    return set(process.stdout.readline().split())


@needs_locks
def test_a_cell_is_claimed_by_one_process(locking: Store, hold: Callable[..., subprocess.Popen[str]]) -> None:
    with closing(claims_on(locking, None)) as claims:
        assert claims.exclusive
        assert claims.take(["a", "b"]) == {"a", "b"}
        assert claims.take(["a"]) == {"a"}, "what is mine stays mine"
        other = hold("a", "b", "c")
        assert taken(other) == {"c"}
        assert claims.take(["b", "c", "d"]) == {"b", "d"}


@needs_locks
def test_claims_end_with_their_process_however_it_ends(locking: Store, hold: Callable[..., subprocess.Popen[str]]) -> None:
    with closing(claims_on(locking, None)) as claims:
        killed = hold("a", "b")
        assert taken(killed) == {"a", "b"}
        assert claims.take(["a"]) == set()
        killed.kill()
        killed.wait()
        while not claims.take(["a"]):  # a database needs a moment to notice
            pass
        assert claims.take(["a", "b"]) == {"a", "b"}


@needs_locks
def test_released_cells_can_be_claimed_by_others(locking: Store, hold: Callable[..., subprocess.Popen[str]]) -> None:
    with closing(claims_on(locking, None)) as claims:
        claims.take(["a", "b"])
        claims.release(["a", "never claimed"])
        assert taken(hold("a", "b")) == {"a"}


@needs_locks
def test_the_last_process_removes_the_file_of_locks(store: Store, database: Path) -> None:
    file = database.with_name(database.name + LOCK_SUFFIX)
    first, second = (_FileClaims(file, "1") for _ in range(2))
    first.take(["a"])
    first.close()
    assert not file.exists()
    assert second.take(["a"]) == {"a"}, "its file was removed, so it makes a new one"
    assert file.exists()
    second.close()
    assert not file.exists()


def test_claims_of_other_experiments_do_not_count(store: Store, database: Path) -> None:
    if not isinstance(claims := claims_on(store, None), _FileClaims | _AdvisoryClaims):
        pytest.skip("the store has no locks")
    with closing(claims), open_store(store.uri, f"{store.experiment} too") as elsewhere:
        claims.take(["a"])
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, elsewhere.uri, elsewhere.experiment, "a"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.communicate("\n")[0].split() == ["a"]


def sweep(writer: Writer) -> str:
    return writer.open_sweep("s", "a sweep", SweepRecord((), "command"), "")


def test_where_there_are_no_locks_a_running_sweep_keeps_the_cells_that_it_lists(store: Store, writer: Writer) -> None:
    first, second = (_ListedClaims(store, sweep(writer)) for _ in range(2))
    assert not first.exclusive
    assert first.take(["a", "b"]) == {"a", "b"}
    assert second.take(["b", "c"]) == {"c"}
    assert first.take(["a", "b", "c"]) == {"a", "b"}
    single = _ListedClaims(store, None)
    assert single.take(["c", "d"]) == {"d"}


def test_a_sweep_that_has_ended_keeps_nothing(store: Store, writer: Writer) -> None:
    run = sweep(writer)
    _ListedClaims(store, run).take(["a"])
    later = _ListedClaims(store, sweep(writer))
    assert later.take(["a"]) == set()
    writer.close_sweep(run, "FINISHED", "")
    assert later.take(["a"]) == {"a"}


@pytest.mark.parametrize(("place", "kept"), [(0, {"a", "b"}), (1, {"a"})], ids=["the smaller id", "the larger id"])
def test_of_two_sweeps_that_list_the_same_cell_at_once_one_keeps_it(
    store: Store, writer: Writer, monkeypatch: pytest.MonkeyPatch, place: int, kept: set[str]
) -> None:
    """Each has looked before the other wrote, and sees the other's list after it wrote its own."""
    runs = sorted([sweep(writer), sweep(writer)])
    claims = _ListedClaims(store, runs[place])
    whole = store.client.log_dict

    def with_the_other(*arguments: Any) -> None:
        whole(*arguments)
        whole(runs[1 - place], {"keys": ["b", "c"]}, "claims.json")  # the other has written its list in the same moment

    monkeypatch.setattr(store.client, "log_dict", with_the_other, raising=False)
    assert claims.take(["a", "b"]) == kept
