"""Find recorded cells by their keys, without the metrics that MLflow's search would read for every run that it looks at.

A database is asked in SQL, in which thousands of keys cost milliseconds. A server has MLflow's own search only: then few cells
are looked up one by one, and for many the pages of all cells are read.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from dpbench.records import names
from dpbench.records.cell_tags import AUDIT_TAGS
from dpbench.tracking.store import Store

if TYPE_CHECKING:
    from mlflow.entities import Run

MAX_KEYS_PER_QUERY = 500
"""With more keys than this, all cells are read: databases limit the length of a query."""
MAX_RUNS_PER_SEARCH = 100
"""The number of run ids that one search names."""
MAX_SINGLE_SEARCHES = 40
"""Up to this many cells, one search per cell is faster than reading every cell of a server."""
CHANGING_TAGS = (names.PARENT, *AUDIT_TAGS)
"""The tags of a recorded cell that may change afterwards: all others are as its own file says."""

_FINISHED_CELLS = f"""
    FROM runs
    JOIN tags AS keys ON keys.run_uuid = runs.run_uuid AND keys.key = '{names.KEY}'
    JOIN tags AS standing ON standing.run_uuid = runs.run_uuid AND standing.key = '{names.STATUS}' AND standing.value = 'ok'
    WHERE runs.experiment_id = :experiment AND runs.lifecycle_stage = 'active' AND runs.status = 'FINISHED'
"""
_FINISHED_QUERY = f"tags.`{names.KIND}` = 'cell' and tags.`{names.STATUS}` = 'ok' and attributes.status = 'FINISHED'"


@dataclass(frozen=True)
class RecordedCell:
    """A finished cell of the store: its key, its run, where its files are, and its tags that may have changed."""

    key: str
    run_id: str
    artifact_uri: str
    tags: Mapping[str, str]


class CellIndex(Protocol):
    """What a store of any kind can say about its finished cells. Of several with the same key, the newest comes first.

    The newest is the one that ended last. Starts cannot decide: a cell's run starts its CPU time before its end, and several
    workers use more CPU time than passes.
    """

    def keys(self, wanted: Collection[str]) -> set[str]:
        """Return those of the wanted keys under which a cell is recorded."""

    def cells(self, wanted: Collection[str] | None) -> Iterator[RecordedCell]:
        """Yield the cells that are recorded under the wanted keys, or all cells."""

    def params_under_other_keys(self, digest_key: str) -> Iterator[Mapping[str, str]]:
        """Yield the parameters of the cells of private tables whose digests have another key."""

    def audit_tags(self, run_ids: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """Return what the store says now of the guarantees of these cells, by run id; runs that are gone are left out."""


def cell_index(store: Store) -> CellIndex:
    """Return the index of a store's experiment."""
    return _Searches(store) if store.is_server else _Queries(store)


class _Queries:
    """The index of a database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keys(self, wanted: Collection[str]) -> set[str]:
        few = len(wanted) <= MAX_KEYS_PER_QUERY
        rows = self._rows(f"SELECT keys.value {_FINISHED_CELLS} {'AND keys.value IN :wanted' * few}", wanted if few else None)
        return {key for (key,) in rows} & set(wanted)

    def cells(self, wanted: Collection[str] | None) -> Iterator[RecordedCell]:
        few = wanted is not None and len(wanted) <= MAX_KEYS_PER_QUERY
        known = None if wanted is None else set(wanted)
        runs = f"SELECT keys.value AS cell, runs.run_uuid, runs.artifact_uri, runs.end_time {_FINISHED_CELLS}"
        changing = ", ".join(f"'{name}'" for name in CHANGING_TAGS)
        # One statement, so that no cell that finishes meanwhile is read without its tags.
        question = (
            "SELECT cells.cell, cells.run_uuid, cells.artifact_uri, tags.key, tags.value "
            f"FROM ({runs} {'AND keys.value IN :wanted' * few}) AS cells "
            f"LEFT JOIN tags ON tags.run_uuid = cells.run_uuid AND tags.key IN ({changing}) "
            "ORDER BY cells.end_time DESC, cells.run_uuid"
        )
        rows = self._rows(question, wanted if few else None)
        for (key, run_id, artifact_uri), tags in groupby(rows, key=lambda row: row[:3]):
            if known is None or key in known:
                yield RecordedCell(key, run_id, artifact_uri, {name: value for *_, name, value in tags if name is not None})

    def params_under_other_keys(self, digest_key: str) -> Iterator[Mapping[str, str]]:
        others = (
            f"SELECT runs.run_uuid {_FINISHED_CELLS} AND EXISTS (SELECT 1 FROM tags WHERE tags.run_uuid = runs.run_uuid "
            f"AND tags.key = '{names.DIGEST_KEY}' AND tags.value <> :digest_key)"
        )
        params: dict[str, dict[str, str]] = {}
        question = f"SELECT run_uuid, key, value FROM params WHERE run_uuid IN ({others})"
        for run_id, name, value in self._rows(question, digest_key=digest_key):
            params.setdefault(run_id, {})[name] = value
        yield from params.values()

    def audit_tags(self, run_ids: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        tags: dict[str, dict[str, str]] = {}
        named = ", ".join(f"'{name}'" for name in AUDIT_TAGS)
        question = f"SELECT run_uuid, key, value FROM tags WHERE key IN ({named}) AND run_uuid IN :wanted"
        for some in _batches(run_ids, MAX_RUNS_PER_SEARCH):
            for run_id, name, value in self._rows(question, some):
                tags.setdefault(run_id, {})[name] = value
        return tags

    def _rows(self, question: str, wanted: Collection[str] | None = None, **values: str) -> Sequence[Any]:
        import sqlalchemy

        statement = sqlalchemy.text(question)
        parameters: dict[str, object] = {"experiment": int(self._store.experiment_id), **values}
        if wanted is not None:
            statement = statement.bindparams(sqlalchemy.bindparam("wanted", expanding=True))
            parameters["wanted"] = sorted(wanted)

        def ask() -> Sequence[Any]:
            with self._store.database.connect() as connection:
                return connection.execute(statement, parameters).all()

        return self._store.patience.call(ask)


class _Searches:
    """The index of a server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keys(self, wanted: Collection[str]) -> set[str]:
        return {run.data.tags[names.KEY] for run in self._runs(wanted)}

    def cells(self, wanted: Collection[str] | None) -> Iterator[RecordedCell]:
        for run in self._runs(wanted):
            tags = {name: run.data.tags[name] for name in CHANGING_TAGS if name in run.data.tags}
            yield RecordedCell(run.data.tags[names.KEY], run.info.run_id, run.info.artifact_uri, tags)

    def params_under_other_keys(self, digest_key: str) -> Iterator[Mapping[str, str]]:
        query = f"{_FINISHED_QUERY} and tags.`{names.DIGEST_KEY}` != '{digest_key}'"
        return (run.data.params for run in self._store.search(query))

    def audit_tags(self, run_ids: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        tags: dict[str, dict[str, str]] = {}
        for some in _batches(run_ids, MAX_RUNS_PER_SEARCH):
            for run in self._store.search(f"attributes.run_id IN ({', '.join(map(repr, some))})"):
                tags[run.info.run_id] = {name: run.data.tags[name] for name in AUDIT_TAGS if name in run.data.tags}
        return tags

    def _runs(self, wanted: Collection[str] | None) -> Iterator["Run"]:
        if wanted is not None and len(wanted) <= MAX_SINGLE_SEARCHES:
            for key in sorted(wanted):
                yield from self._store.search(f"{_FINISHED_QUERY} and tags.`{names.KEY}` = '{key}'", newest_by="end_time")
            return
        known = None if wanted is None else set(wanted)
        for run in self._store.search(_FINISHED_QUERY, newest_by="end_time"):
            if known is None or run.data.tags.get(names.KEY) in known:
                yield run


def _batches(texts: Collection[str], size: int) -> Iterator[Sequence[str]]:
    ordered = sorted(texts)
    return (ordered[start : start + size] for start in range(0, len(ordered), size))
