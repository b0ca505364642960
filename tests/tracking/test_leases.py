"""What a dead process left running is closed by the next sweep, and what a living one runs is left alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mlflow.entities import ViewType

from dpbench.base.processes import start_of
from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking import leases
from dpbench.tracking.leases import MAX_SILENCE_MINUTES, Heartbeat, Lease, close_abandoned, own_lease
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store

SILENT = 60.0 * MAX_SILENCE_MINUTES + 5.0


@pytest.fixture(scope="module")
def ended() -> Lease:
    """The lease of a process of this host that was alive a moment ago."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        lease = replace(own_lease(), process=process.pid, start=start_of(process.pid) or "")
    return lease


def begin(store: Store, lease: Lease | None, kind: str = "sweep", parent: str = "") -> str:
    tags = {names.KIND: kind, names.COMMAND: "the command"}
    tags |= {names.LEASE: lease.text} if lease else {}
    tags |= {names.PARENT: parent} if parent else {}
    return str(store.client.create_run(store.experiment_id, tags=tags).info.run_id)


def state(store: Store, run_id: str) -> tuple[str, str]:
    info = store.client.get_run(run_id).info
    return info.status, info.lifecycle_stage


def test_a_lease_is_dead_when_its_process_is(ended: Lease) -> None:
    assert not own_lease().is_dead()
    assert ended.is_dead()


def test_a_process_id_that_is_used_again_is_another_process() -> None:
    assert replace(own_lease(), start="before").is_dead()


def test_a_process_of_another_host_is_dead_when_it_is_silent() -> None:
    elsewhere = replace(own_lease(), host="elsewhere", process=1)
    assert not elsewhere.is_dead()
    assert replace(elsewhere, heartbeat=time.time() - SILENT).is_dead()


def test_what_a_dead_process_left_is_closed_and_its_half_written_cells_are_deleted(store: Store, ended: Lease) -> None:
    sweep = begin(store, ended)
    cell, alone = begin(store, None, "cell", sweep), begin(store, ended, "cell")
    close_abandoned(store)
    assert state(store, sweep) == ("KILLED", "active")
    assert [state(store, run_id)[1] for run_id in (cell, alone)] == ["deleted", "deleted"]
    run = store.client.get_run(sweep)
    assert names.LEASE not in run.data.tags
    assert run.data.tags[names.NOTE].startswith("`the command`")
    assert run.info.end_time == round(1000 * ended.heartbeat)
    close_abandoned(store)  # nothing is left to do


def test_what_a_living_process_runs_is_left_alone(store: Store) -> None:
    sweep = begin(store, own_lease())
    others = [begin(store, None, "cell", sweep), begin(store, own_lease(), "cell"), begin(store, None)]
    foreign = store.client.create_run(store.experiment_id).info.run_id
    close_abandoned(store)
    assert {state(store, run_id) for run_id in (sweep, *others, foreign)} == {("RUNNING", "active")}


def test_other_experiments_of_the_store_are_closed_too(store: Store, ended: Lease) -> None:
    experiment = store.client.create_experiment(f"{store.experiment} beside", tags={names.KIND: "experiment"})
    other = replace(store, experiment_id=experiment)
    sweep = begin(other, ended)
    close_abandoned(store)
    assert state(store, sweep) == ("KILLED", "active")


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"host": 1, "unknown": 2}'])
def test_a_lease_that_cannot_be_read_lasts_from_the_start_of_its_run(store: Store, text: str) -> None:
    now = round(1000 * time.time())
    tags = {names.KIND: "sweep", names.LEASE: text}
    starts = (now, now - round(1000 * SILENT))
    young, old = (store.client.create_run(store.experiment_id, start_time=start, tags=tags).info.run_id for start in starts)
    close_abandoned(store)
    assert [state(store, run_id)[0] for run_id in (young, old)] == ["RUNNING", "KILLED"]


def test_a_heartbeat_renews_the_lease_until_it_ends(store: Store, ended: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.01)
    run_id = begin(store, ended)
    heartbeat = Heartbeat(store.client, run_id)
    end = time.monotonic() + 20
    while store.client.get_run(run_id).data.tags[names.LEASE] == ended.text and time.monotonic() < end:
        time.sleep(0.01)
    heartbeat.end()
    close_abandoned(store)
    assert state(store, run_id) == ("RUNNING", "active")


def test_a_heartbeat_survives_a_store_that_fails() -> None:
    class Broken:
        calls = 0

        def set_tag(self, *_: object) -> None:
            self.calls += 1
            raise ConnectionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leases, "HEARTBEAT_SECONDS", 0.001)
        client: Any = Broken()
        heartbeat = Heartbeat(client, "r")
        end = time.monotonic() + 20
        while client.calls < 2 and time.monotonic() < end:
            time.sleep(0.001)
        heartbeat.end()
    assert client.calls >= 2


def test_a_run_has_a_lease_as_long_as_it_is_written(store: Store, make_record: Callable[..., CellRecord]) -> None:
    with Writer(store) as writer:
        sweep = writer.open_sweep("s", "a sweep", SweepRecord((), "command"), "")
        assert Lease(**json.loads(store.client.get_run(sweep).data.tags[names.LEASE])).start == own_lease().start
        cells = [writer.write(make_record("a"), sweep).run_id, writer.write(make_record("b"), None).run_id]
    runs = store.client.search_runs([store.experiment_id], run_view_type=ViewType.ALL)
    assert {run.info.run_id for run in runs} == {sweep, *cells}
    assert not any(names.LEASE in run.data.tags for run in runs)


@pytest.mark.parametrize(("key", "moved"), [("same", True), ("other", False)])
def test_recorded_cells_move_from_an_interrupted_sweep_of_the_same_cells(
    store: Store, make_record: Callable[..., CellRecord], key: str, moved: bool
) -> None:
    with Writer(store) as writer:
        first, whole = (writer.open_sweep("same", "a sweep", SweepRecord((), "command"), "") for _ in range(2))
        writer.write(make_record("a"), first)
        elsewhere = writer.write(make_record("b"), whole).run_id
        writer.close_sweep(first, "KILLED", "")
        writer.close_sweep(whole, "FINISHED", "")
    with Writer(store) as writer:
        last = writer.open_sweep(key, "a sweep", SweepRecord((), "command"), "")
        recorded = writer.finished(["a", "b"])
        writer.gather(last, key, recorded.values())
        parents = {cell: store.client.get_run(recorded[cell].run_id).data.tags[names.PARENT] for cell in recorded}
    assert parents == {"a": last if moved else first, "b": whole}
    assert recorded["b"].run_id == elsewhere
