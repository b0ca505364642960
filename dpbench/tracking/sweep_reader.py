"""Read sweeps back from MLflow, as reports see them: nothing is needed but the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.records.cell_record import CellDetail, CellRecord, DetailInMemory
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.cell_files import read_curves, read_runs
from dpbench.tracking.store import Store

if TYPE_CHECKING:
    from mlflow.entities import Run

RECORDS = "records.parquet"
REQUEST = "sweep.json"
ASKED_AGAIN = "dpbench.asked_again"
"""When, in milliseconds, a sweep was asked for that had been recorded before."""
ENOUGH = 6
"""So many characters of a run id name it."""
NAMED = 10
"""So many sweeps are named where one is not found."""


@dataclass(frozen=True)
class Stored:
    """A recorded cell's files, each read when it is asked for."""

    store: str
    """The URI of the store."""
    home: str
    """The URI of the run's artifacts: to ask the store for it would take longer than to read them."""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        import yaml

        path = self._path("config.yaml")
        return dict(yaml.safe_load(path.read_text(encoding="utf-8"))) if path else {}

    @cached_property
    def ledger(self) -> Mapping[str, Any]:
        path = self._path("ledger.json")
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path else {}

    @cached_property
    def runs(self) -> Mapping[str, np.ndarray]:
        path = self._path("runs.parquet")
        return read_runs(path) if path else {}

    @cached_property
    def curves(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        path = self._path("curves.parquet")
        return read_curves(path) if path else {}

    def _path(self, name: str) -> Path | None:
        return _artifact(self.store, self.home, name)


def read_sweep(store: Store, asked: str | None = None) -> SweepRecord:
    """A finished sweep: the newest, or the newest that goes by this run id (its beginning is enough), or by a preset's name."""
    for run in _finished(store):
        name = run.data.tags.get("dpbench.preset")
        if asked is None or name == asked or (len(asked) >= ENOUGH and run.info.run_id.startswith(asked)):
            sweep = _read(store, run)
            if sweep is not None:
                return sweep
    what = f"no finished sweep {asked!r}" if asked else "no finished sweep"
    known = list(dict.fromkeys(run.data.tags.get("dpbench.preset", "") or run.info.run_id for run in _finished(store)))
    cut = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    more = f" Known: {', '.join(known[:NAMED])}{cut}." if known else ""
    if asked and len(asked) < ENOUGH:
        more = f" Of a run id at least the first {ENOUGH} characters are needed.{more}"
    raise Refused(f"In the experiment {store.experiment!r} of {store.shown} there is {what}.{more}")


def preset_sweeps(store: Store) -> dict[str, SweepRecord]:
    """Of every preset, the newest finished sweep: as the preset says rather than changed, whole rather than quick."""
    found: dict[str, SweepRecord] = {}
    for run in _finished(store):
        name = run.data.tags.get("dpbench.preset")
        sweep = _read(store, run) if name and (name not in found or _short_of_it(found[name]) > 0) else None
        if name and sweep is not None and (name not in found or _short_of_it(sweep) < _short_of_it(found[name])):
            found[name] = sweep
    return found


def _short_of_it(sweep: SweepRecord) -> int:
    """How much a sweep lacks of being its preset: nothing, repeats, or the grid."""
    return 2 * bool(sweep.changed) + sweep.quick


def sweeps(store: Store) -> list[Run]:
    """The experiment's sweeps, whatever became of them, the one that was asked for last first."""
    found: list[Run] = []
    token: str | None = None
    while True:
        page = store.client.search_runs([store.experiment_id], "tags.`dpbench.kind` = 'sweep'", page_token=token)
        found += page
        token = page.token
        if not token:
            return sorted(found, key=lambda run: -int(run.data.tags.get(ASKED_AGAIN, run.info.start_time)))


def _finished(store: Store) -> Iterator[Run]:
    """Those that came to their end; one with failed cells did."""
    return (run for run in sweeps(store) if run.info.status in ("FINISHED", "FAILED"))


def _read(store: Store, run: Run) -> SweepRecord | None:
    """The sweep of a parent run; None where its records are missing, as they are when it did not come to its end."""
    home = run.info.artifact_uri
    path = _artifact(store.uri, home, RECORDS)
    if path is None:
        return None
    import pyarrow.parquet

    def detail(run_id: str) -> CellDetail:
        # all runs of an experiment have their artifacts below one address, each below its own id
        return Stored(store.uri, home.replace(run.info.run_id, run_id)) if run_id else DetailInMemory()

    columns = pyarrow.parquet.read_table(path).to_pylist()
    cells = tuple(CellRecord.from_columns(row, detail(row.get("run_id") or "")) for row in columns)
    request = _artifact(store.uri, home, REQUEST)
    if request is None:
        return None
    return SweepRecord.from_request(json.loads(request.read_text(encoding="utf-8")), cells, run.info.run_id)


def _artifact(store: str, home: str, name: str) -> Path | None:
    """The file as it lies on this machine, or a copy of it."""
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    try:
        return Path(get_artifact_repository(home, tracking_uri=store).download_artifacts(name))
    except (MlflowException, OSError):  # stores differ in how they say that there is no such file
        return None
