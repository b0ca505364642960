"""Write sweeps and finished cells to MLflow, by the names of ``docs/records.md``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from dpbench.records.cell_record import CellDetail, CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.cell_files import write_files
from dpbench.tracking.store import Store
from dpbench.tracking.sweep_reader import ASKED_AGAIN, Stored
from dpbench.tracking.ui_view import colour

if TYPE_CHECKING:
    from mlflow.entities import Run

Ending = Literal["FINISHED", "FAILED", "KILLED"]

NOTE = "mlflow.note.content"
STORE_TAGS = ("dpbench.kind", "dpbench.key", "dpbench.status", "dpbench.error")
"""Tags that only the store needs: a record has them as fields."""
LONGEST_TAG = 8_000
LONGEST_PARAM = 6_000
"""MLflow cuts both without a word: we cut first, and say so."""

_CUT_NOTE = "\n\n*This note is cut here: the whole of it is the artifact `note.md`.*"
_PAGE = 1_000
_FEW = 20
"""Up to here one question a cell is faster than reading every record of a large store."""


class Writer:
    """The only writer of a store: one run per cell under one parent run per sweep.

    As a context manager it leaves no run behind that looks as if it were still going on.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._client = store.client
        self._going: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        from mlflow.exceptions import MlflowException

        for run_id in sorted(self._going):
            # Where the store itself is what failed, this fails too, and must not hide the first error.
            with suppress(MlflowException) if error else nullcontext():
                self._end(run_id, "KILLED")

    def finished(self, keys: Collection[str]) -> dict[str, CellRecord]:
        """The run of each of these cells that the experiment already holds a good record of: the newest."""
        wanted = set(keys)
        found: dict[str, CellRecord] = {}
        good = "tags.`dpbench.kind` = 'cell' and tags.`dpbench.status` = 'ok' and attributes.status = 'FINISHED'"
        few = len(wanted) <= _FEW
        for query in [f"{good} and tags.`dpbench.key` = '{key}'" for key in sorted(wanted)] if few else [good]:
            for run in self._search(query):
                key = run.data.tags.get("dpbench.key", "")
                if key in wanted:
                    detail = Stored(self._store.uri, run.info.artifact_uri)
                    found.setdefault(key, _read(run, detail))
                if len(found) == len(wanted):
                    break
        return found

    def open_sweep(self, sweep_key: str, name: str, sweep: SweepRecord, note: str) -> str:
        """Begin a sweep; the id of its run is the parent of its cells."""
        tags = {"dpbench.kind": "sweep", "dpbench.sweep_key": sweep_key, NOTE: shortened(note)}
        tags |= {"dpbench.command": sweep.command, "dpbench.quick": str(sweep.quick).lower()}
        tags |= {"dpbench.preset": sweep.preset.name} if sweep.preset is not None else {}
        return str(self._begin(name, tags, _now()).info.run_id)

    def repeated(self, sweep_key: str) -> bool:
        """Whether a sweep of just these cells was finished before: then it is the newest again."""
        query = f"tags.`dpbench.kind` = 'sweep' and tags.`dpbench.sweep_key` = '{sweep_key}' and attributes.status = 'FINISHED'"
        found = next(self._search(query), None)
        if found is not None:
            self._client.set_tag(found.info.run_id, ASKED_AGAIN, str(_now()))
        return found is not None

    def write(self, record: CellRecord, parent: str | None) -> str:
        """Write one cell; the id of its run."""
        from mlflow.entities import Metric, Param

        ok = record.state != "failed"
        end = _now()
        start = end - round(1000 * record.metrics.get("time/cell_seconds", 0.0))
        own = {"dpbench.kind": "cell", "dpbench.key": record.key, "dpbench.status": "ok" if ok else "failed"}
        if record.reason:
            own["dpbench.error"] = record.reason
        if "mechanism" in record.params:
            own["mlflow.runColor"] = colour(record.params["mechanism"])
        if parent:
            own["mlflow.parentRunId"] = parent
        run = self._begin(run_name(record.params), {**record.tags, **own}, start)
        single = [Metric(name, value, end, 0) for name, value in record.metrics.items()]
        series = [Metric(name, value, end, step) for name, values in record.history.items() for step, value in enumerate(values)]
        params = [Param(name, _cut(value, LONGEST_PARAM)) for name, value in record.params.items()]
        self._client.log_batch(run.info.run_id, metrics=single + series if ok else [], params=params)
        with self._artifacts(run) as folder:
            write_files(record, folder)
        self._end(run.info.run_id, "FINISHED" if ok else "FAILED", end)
        return str(run.info.run_id)

    def close_sweep(
        self, parent: str, status: Ending, note: str, artifacts: Path | None = None, metrics: Mapping[str, float] | None = None
    ) -> None:
        """End a sweep with its last note, its own numbers, and a folder of files, kept under their relative paths."""
        from mlflow.entities import Metric

        self._client.set_tag(parent, NOTE, shortened(note))
        self._client.log_batch(parent, metrics=[Metric(name, value, _now(), 0) for name, value in (metrics or {}).items()])
        if len(note) > LONGEST_TAG:
            self._client.log_text(parent, note, "note.md")
        if artifacts is not None:
            self._client.log_artifacts(parent, str(artifacts))
        self._end(parent, status)

    def _begin(self, name: str, tags: Mapping[str, str], start: int) -> Run:
        source = {"mlflow.source.name": "dpbench", "mlflow.source.type": "LOCAL"}
        texts = {key: value if key == NOTE else _cut(value, LONGEST_TAG) for key, value in tags.items()}
        run = self._client.create_run(self._store.experiment_id, start_time=start, tags={**source, **texts}, run_name=name)
        self._going.add(run.info.run_id)
        return run

    def _end(self, run_id: str, status: Ending, end: int | None = None) -> None:
        self._client.set_terminated(run_id, status=status, end_time=end)
        self._going.discard(run_id)

    @contextmanager
    def _artifacts(self, run: Run) -> Iterator[Path]:
        """The run's artifact folder to write into, or a folder that is sent to where its artifacts are kept."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
        from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository

        repository: Any = get_artifact_repository(run.info.artifact_uri, tracking_uri=self._store.uri)
        if isinstance(repository, LocalArtifactRepository):
            yield Path(repository.artifact_dir)
            return
        with tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
            yield Path(folder)
            repository.log_artifacts(folder)

    def _search(self, query: str) -> Iterator[Run]:
        token: str | None = None
        while True:
            page = self._client.search_runs(
                [self._store.experiment_id], query, max_results=_PAGE, order_by=["attributes.start_time DESC"], page_token=token
            )
            yield from page
            token = page.token
            if not token:
                return


def _read(run: Run, detail: CellDetail) -> CellRecord:
    """Return a recorded cell with the names it had when it ran: without what only the store adds."""
    tags = {name: text for name, text in run.data.tags.items() if name.startswith("dpbench.") and name not in STORE_TAGS}
    # the last value of a history carries the metric's bare name next to its summaries
    metrics = {name: value for name, value in run.data.metrics.items() if f"{name}_median" not in run.data.metrics}
    return CellRecord(
        "resumed", run.data.params, tags, metrics, run_id=run.info.run_id, key=run.data.tags["dpbench.key"], detail=detail
    )


def run_name(params: Mapping[str, str]) -> str:
    """What the runs table calls a cell: ``fm linear wine ε=0.8``, and the options that the sweep varied."""
    names = [params.get(kind, "") for kind in ("mechanism", "model", "dataset")]
    attack = params.get("attack", "none")
    epsilon = params.get("epsilon", "")
    options = [f"{key.partition('.')[2]}={value}" for key, value in params.items() if "." in key]
    return " ".join(
        [*filter(None, names), *([attack] if attack != "none" else []), *([f"ε={epsilon}"] if epsilon else []), *options]
    )


def shortened(note: str) -> str:
    """The note as far as MLflow keeps it, cut at the end of a line, with a sentence that says where the rest is."""
    if len(note) <= LONGEST_TAG:
        return note
    head = note[: LONGEST_TAG - len(_CUT_NOTE)]
    return (head.rpartition("\n")[0] or head) + _CUT_NOTE


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _now() -> int:
    return time.time_ns() // 1_000_000
