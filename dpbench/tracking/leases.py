"""Leases: a run that is being written names its process, so that the next sweep can close what a dead process left.

The lease is a tag of the run, because every store has tags: a SQLite file, a database, and a server that several machines share.
"""

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from dpbench.base.processes import host_name, start_of
from dpbench.records import names
from dpbench.tracking.patience import impatient
from dpbench.tracking.store import Store

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

HEARTBEAT_SECONDS = 60.0
MAX_SILENCE_MINUTES = 15
"""A process that renewed its lease longer ago than this is dead. Clocks of machines that share a store must agree better."""
JOIN_SECONDS = 5.0
"""How long the end of a sweep waits for a heartbeat that is being written."""


@dataclass(frozen=True)
class Lease:
    """The process that writes a run, and when it last said so, in seconds since 1970."""

    host: str = ""
    process: int = 0
    start: str = ""
    heartbeat: float = 0.0

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    def is_dead(self) -> bool:
        """Return whether the process has ended, or was silent for too long to be still at work."""
        start = start_of(self.process) if self.host == host_name() else None
        ended = start is not None and start != self.start
        return ended or time.time() - self.heartbeat > 60 * MAX_SILENCE_MINUTES


def is_alive(run: "Run") -> bool:
    """Return whether the process that writes a run is at work."""
    return not _lease_of(run).is_dead()


def own_lease() -> Lease:
    """Return the lease of this process, renewed now."""
    return replace(_this_process(), heartbeat=time.time())


@cache
def _this_process() -> Lease:
    return Lease(host_name(), os.getpid(), start_of(os.getpid()) or "")


class Heartbeat:
    """Renews the lease of a run from a thread: a cell may take longer than a lease lasts."""

    def __init__(self, client: "MlflowClient", run_id: str) -> None:
        self._client, self._run_id = impatient(client), run_id
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="dpbench-heartbeat", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(JOIN_SECONDS)

    def _renew(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            with suppress(Exception):  # a store that cannot be reached now may be reached at the next beat
                self._client.set_tag(self._run_id, names.LEASE, own_lease().text)


def close_abandoned(store: Store) -> None:
    """Close the sweeps that a dead process left running in this store, and delete the cells that it did not finish writing.

    The store keeps deleted runs until ``mlflow gc``. Several processes may do this at once.
    """
    from mlflow.exceptions import MlflowException

    experiments = store.client.search_experiments(filter_string=f"tags.`{names.KIND}` = 'experiment'")
    ids = [experiment.experiment_id for experiment in experiments]
    runs = [run for run in store.search("attributes.status = 'RUNNING'", experiments=ids) if names.KIND in run.data.tags]
    sweeps = {run.info.run_id for run in runs if run.data.tags[names.KIND] == "sweep"}
    dead = {run.info.run_id for run in runs if names.PARENT not in run.data.tags and _lease_of(run).is_dead()}
    for run in runs:
        run_id, parent = run.info.run_id, run.data.tags.get(names.PARENT, "")
        if run_id in dead and run_id in sweeps:
            with suppress(MlflowException):
                _close_sweep(store.client, run)
        elif run_id in dead or parent in dead or (parent and parent not in sweeps):
            with suppress(MlflowException):  # another process was faster
                store.client.delete_run(run_id)


def _close_sweep(client: "MlflowClient", run: "Run") -> None:
    note = (
        f"`{run.data.tags.get(names.COMMAND, '')}`\n\nIts process ended before the sweep did. Cells that were finished stay "
        "recorded, and the same command runs the others."
    )
    client.set_tag(run.info.run_id, names.NOTE, note)
    client.set_terminated(run.info.run_id, "KILLED", end_time=round(1000 * _lease_of(run).heartbeat))
    client.delete_tag(run.info.run_id, names.LEASE)


def _lease_of(run: "Run") -> Lease:
    """Return the lease of a run; a run without one was begun by an older version, which said no more than when."""
    try:
        return Lease(**json.loads(run.data.tags[names.LEASE]))
    except (KeyError, ValueError, TypeError):
        return Lease(heartbeat=run.info.start_time / 1000)
