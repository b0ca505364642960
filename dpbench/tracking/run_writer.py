"""Write sweeps and finished cells to MLflow, under the names that ``dpbench/records/names.py`` declares."""

import tempfile
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dpbench.base.phases import phase
from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import audit_tags, guarantee_of
from dpbench.records.mechanism_style import mechanism_style
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.artifact_folders import local_folder
from dpbench.tracking.browsed_metrics import browsed_metrics
from dpbench.tracking.cell_files import StoredDetail, write_cell_files
from dpbench.tracking.cell_index import cell_index
from dpbench.tracking.chart_metrics import chart_metrics
from dpbench.tracking.leases import Heartbeat, own_lease
from dpbench.tracking.patience import StoreLost
from dpbench.tracking.store import Store
from dpbench.tracking.stored_cells import read_cells
from dpbench.tracking.sweep_files import says_the_same

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

Ending = Literal["FINISHED", "FAILED", "KILLED"]

MAX_TAG_LENGTH = 8_000
MAX_PARAM_LENGTH = 6_000
"""MLflow cuts longer texts silently. We cut them first, and say so."""

_CUT_NOTE = f"\n\n*This note is cut here: the artifact `{names.NOTE_FILE}` has all of it.*"


class Writer(AbstractContextManager["Writer"]):
    """The only writer of a store: it writes one run per cell under one parent run per sweep.

    As a context manager it closes every run that it has begun, so that none looks as if it were still running.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open_runs: dict[str, str] = {}
        """The kinds of the runs that are begun and not ended, by their ids."""
        self._leased: dict[str, Heartbeat] = {}
        self._parents: dict[str, str] = {}
        self._damaged: dict[str, list[str]] = {}
        """The runs of recorded cells whose files are missing, by key: a new run replaces them."""

    @property
    def _client(self) -> "MlflowClient":
        return self._store.client

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if not self._open_runs:  # as after reading, for which MLflow need not be imported
            return
        from mlflow.exceptions import MlflowException

        for run_id, what in sorted(self._open_runs.items()):
            # If the store itself has failed, this fails too, and must not hide the first error.
            with suppress(MlflowException, StoreLost) if error else nullcontext():
                if what == "cell":  # half of it is written, which is of no use
                    self._client.delete_run(run_id)
                else:
                    self._end(run_id, "KILLED")

    @phase("tracking")
    def finished(self, keys: Collection[str]) -> dict[str, CellRecord]:
        """Return the newest successful record of each of these cells that the experiment has with all of its files."""
        records: dict[str, CellRecord] = {}
        for cell, record in read_cells(cell_index(self._store).cells(keys), self._store):
            if record is None:
                self._damaged.setdefault(cell.key, []).append(cell.run_id)
            elif cell.key not in records:
                records[cell.key] = record
                self._parents[cell.run_id] = cell.tags.get(names.PARENT, "")
        return records

    def count_under_other_keys(self, digest_key: str, params: Sequence[Mapping[str, str]]) -> int:
        """Return how many finished cells with one of these sets of parameters were recorded under another digest key."""
        return sum(recorded in params for recorded in cell_index(self._store).params_under_other_keys(digest_key))

    @phase("tracking")
    def open_sweep(self, sweep_key: str, name: str, sweep: SweepRecord, note: str) -> str:
        """Begin a sweep and return the id of its run, the parent of its cells."""
        tags = {names.KIND: "sweep", names.SWEEP_KEY: sweep_key, names.COMMAND: sweep.command, names.NOTE: shortened(note)}
        tags |= {names.QUICK: str(sweep.quick).lower()}
        tags |= {names.PRESET: sweep.preset.name} if sweep.preset is not None else {}
        run_id = str(self._begin(name, tags, _now()).info.run_id)
        # the tag of a command is cut where MLflow cuts it, and a sweep that is killed writes no other file
        self._client.log_dict(run_id, sweep.request(), names.REQUEST_FILE)
        return run_id

    def repeated(self, sweep_key: str, recorded: Collection[CellRecord]) -> "Run | None":
        """Return the run of a finished sweep of these cells, which becomes the newest sweep again; None if there is none.

        Nor is there one whose report says otherwise of a cell: it was run again or audited since.
        """
        query = f"tags.`{names.KIND}` = 'sweep' and tags.`{names.SWEEP_KEY}` = '{sweep_key}' and attributes.status = 'FINISHED'"
        run = next(self._store.search(query, limit=1), None)
        if run is not None and not says_the_same(self._store, run, recorded):
            return None
        if run is not None:
            self._client.set_tag(run.info.run_id, names.REPEATED, str(_now()))
        return run

    def gather(self, parent: str, sweep_key: str, records: Iterable[CellRecord]) -> None:
        """Move recorded cells from interrupted sweeps of the same cells to the sweep that finishes them."""
        query = f"tags.`{names.KIND}` = 'sweep' and tags.`{names.SWEEP_KEY}` = '{sweep_key}' and attributes.status = 'KILLED'"
        interrupted = {run.info.run_id for run in self._store.search(query)}
        for record in records:
            if self._parents.get(record.run_id) in interrupted:
                self._client.set_tag(record.run_id, names.PARENT, parent)

    @phase("tracking")
    def write(self, record: CellRecord, parent: str | None) -> CellRecord:
        """Write one cell, and return its record as the store has it: with its run, and with its detail in files."""
        from mlflow.entities import Metric, Param

        ok = record.state != "failed"
        end = _now()
        start = end - round(1000 * record.metrics.get(names.CELL_SECONDS, 0.0))
        tags = {**record.tags, names.KIND: "cell", names.KEY: record.key, names.STATUS: "ok" if ok else "failed"}
        tags[names.PRIMARY] = record.primary
        colour = mechanism_style(record.params["mechanism"]).colour if "mechanism" in record.params else ""
        optional = {names.ERROR: record.reason, names.COLOUR: colour, names.PARENT: parent}
        tags |= {name: text for name, text in optional.items() if text}
        run = self._begin(run_name(record), tags, start)
        values = browsed_metrics(record) | chart_metrics(record)
        metrics = [Metric(name, value, end, 0) for name, value in values.items()]
        params = [Param(name, _cut(value, MAX_PARAM_LENGTH)) for name, value in record.params.items()]
        self._client.log_batch(run.info.run_id, metrics=metrics if ok else [], params=params)
        self._write_files(record, run)
        self._end(run.info.run_id, "FINISHED" if ok else "FAILED", end)
        for replaced in self._damaged.pop(record.key, ()) if ok else ():
            self._client.delete_run(replaced)
        return replace(record, run_id=run.info.run_id, detail=StoredDetail(self._store.uri, run.info.artifact_uri))

    def mark_duplicates(self, records: Iterable[CellRecord]) -> None:
        """Mark those of these records whose cells another process recorded before: readers count the newest record alone."""
        own = {record.key: record.run_id for record in records if record.done}
        runs: dict[str, list[str]] = {}
        for cell in cell_index(self._store).cells(own):  # the newest first
            runs.setdefault(cell.key, []).append(cell.run_id)
        for key, (*later, first) in runs.items():
            if own[key] in later:
                self._client.set_tag(own[key], names.DUPLICATE_OF, first)

    def remove_strays(self, parent: str) -> None:
        """Delete the cells of a sweep that look as if they were being written: the store's answer to their start was lost."""
        if self._store.patience.waited:
            for run in self._store.search(f"tags.`{names.PARENT}` = '{parent}' and attributes.status = 'RUNNING'"):
                self._client.delete_run(run.info.run_id)

    def vouch(self, record: CellRecord, tags: Mapping[str, str]) -> CellRecord:
        """Return a recorded cell with tags that an audit decided after it was recorded, and write what changed.

        Another process may have audited the cell since it was read: only a refutation replaces what its audit decided.
        """
        before = audit_tags(record.tags)
        if not tags or tags == before:
            return record
        now = cell_index(self._store).audit_tags([record.run_id]).get(record.run_id, before)
        decided = guarantee_of({**record.tags, **now}) != "claimed"
        if decided and tags.get(names.GUARANTEE) != "refuted":
            return record.with_audit_tags(now)
        for name, text in tags.items():
            if now.get(name) != text:
                self._client.set_tag(record.run_id, name, _cut(text, MAX_TAG_LENGTH))
        for name in now.keys() - tags.keys():
            self._client.delete_tag(record.run_id, name)
        return record.with_audit_tags(tags)

    @phase("tracking")
    def close_sweep(
        self, parent: str, status: Ending, note: str, artifacts: Path | None = None, metrics: Mapping[str, float] | None = None
    ) -> None:
        """End a sweep with its last note, its metrics, and a folder of files that keep their relative paths."""
        from mlflow.entities import Metric

        self._client.set_tag(parent, names.NOTE, shortened(note))
        self._client.log_batch(parent, metrics=[Metric(name, value, _now(), 0) for name, value in (metrics or {}).items()])
        if len(note) > MAX_TAG_LENGTH:
            self._client.log_text(parent, note, names.NOTE_FILE)
        if artifacts is not None:
            self._client.log_artifacts(parent, str(artifacts))
        self._end(parent, status)

    def _begin(self, name: str, tags: Mapping[str, str], start: int) -> "Run":
        if names.PARENT not in tags:  # the lease of a sweep is that of its cells
            tags = {**tags, names.LEASE: own_lease().text}
        source = {"mlflow.source.name": "dpbench", "mlflow.source.type": "LOCAL"}
        texts = {key: value if key == names.NOTE else _cut(value, MAX_TAG_LENGTH) for key, value in tags.items()}
        run = self._client.create_run(self._store.experiment_id, start_time=start, tags={**source, **texts}, run_name=name)
        self._open_runs[run.info.run_id] = tags[names.KIND]
        if names.LEASE in tags:
            self._leased[run.info.run_id] = Heartbeat(self._client, run.info.run_id)
        return run

    def _end(self, run_id: str, status: Ending, end: int | None = None) -> None:
        from mlflow.exceptions import MlflowException

        heartbeat = self._leased.pop(run_id, None)
        if heartbeat is not None:
            heartbeat.end()
        self._client.set_terminated(run_id, status=status, end_time=end)
        self._open_runs.pop(run_id, None)
        if heartbeat is not None:
            with suppress(MlflowException):  # a process that took this one for dead has removed the lease
                self._client.delete_tag(run_id, names.LEASE)

    def _write_files(self, record: CellRecord, run: "Run") -> None:
        """Write a cell's files into its run's folder or, if that is on another machine, upload them."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        home = local_folder(self._store.uri, run.info.artifact_uri)
        if home is not None:
            self._store.patience.call(lambda: write_cell_files(record, home))
            return
        repository: Any = get_artifact_repository(run.info.artifact_uri, tracking_uri=self._store.uri)
        with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
            write_cell_files(record, Path(folder))
            self._store.patience.call(lambda: repository.log_artifacts(folder))


def run_name(record: CellRecord) -> str:
    """Return the name of a cell in MLflow's table: ``fm linear wine ε=0.8``, then the options that the sweep varied."""
    params = record.params
    components = [params.get(kind, "") for kind in ("mechanism", "model", "dataset", *(["attack"] if record.attacked else []))]
    epsilon = [f"ε={params['epsilon']}"] if "epsilon" in params else []
    options = [f"{key.partition('.')[2]}={value}" for key, value in params.items() if "." in key]
    return " ".join([*filter(None, components), *epsilon, *options])


def shortened(note: str) -> str:
    """Return the note in the length that MLflow keeps, cut at the end of a line, with a sentence that says where the rest is."""
    if len(note) <= MAX_TAG_LENGTH:
        return note
    head = note[: MAX_TAG_LENGTH - len(_CUT_NOTE)]
    return (head.rpartition("\n")[0] or head) + _CUT_NOTE


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _now() -> int:
    return time.time_ns() // 1_000_000
