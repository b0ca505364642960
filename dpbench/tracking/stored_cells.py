"""Read recorded cells back with every number: MLflow has only the metrics that people browse."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import audit_tags
from dpbench.tracking.artifact_folders import local_folder
from dpbench.tracking.cell_files import FILES, StoredDetail, fields_of, read_json
from dpbench.tracking.cell_index import RecordedCell
from dpbench.tracking.store import Store, artifact_path

Rows = Mapping[str, Mapping[str, Any]]
"""The rows of a table by the run ids of their cells."""


def read_cells(cells: Iterable[RecordedCell], store: Store) -> Iterator[tuple[RecordedCell, CellRecord | None]]:
    """Yield finished cells with their records; None for a cell whose files are not all there any more."""
    sweeps: dict[str, Rows] = {}
    for cell in cells:
        folder = local_folder(store.uri, cell.artifact_uri)
        record = _from_folder(cell, folder, store) if folder else _from_server(cell, store, sweeps)
        yield cell, record and _as_resumed(record, cell)


def read_cell_file(artifact_uri: str, store_uri: str) -> CellRecord | None:
    """Return the record in a cell's own file, or None if there is no such file."""
    path = artifact_path(store_uri, artifact_uri, names.CELL_FILE)
    return CellRecord(**fields_of(read_json(path)), detail=StoredDetail(store_uri, artifact_uri)) if path else None


def _from_folder(cell: RecordedCell, folder: Path, store: Store) -> CellRecord | None:
    try:
        content = read_json(folder / names.CELL_FILE)
        if not set(content[FILES]).issubset(os.listdir(folder)):
            return None
    except (OSError, ValueError, KeyError):  # missing, or not as this version writes it
        return None
    return CellRecord(**fields_of(content), detail=StoredDetail(store.uri, cell.artifact_uri))


def _from_server(cell: RecordedCell, store: Store, sweeps: dict[str, Rows]) -> CellRecord | None:
    """Return a record from the file of its sweep, which holds all of its cells, or else from its own: one request each."""
    parent = cell.tags.get(names.PARENT, "")
    if parent and parent not in sweeps:
        sweeps[parent] = _rows_of_sweep(store.uri, cell.artifact_uri.replace(cell.run_id, parent))
    row = sweeps.get(parent, {}).get(cell.run_id)
    if row is not None:
        return CellRecord.from_columns(row, StoredDetail(store.uri, cell.artifact_uri))
    return read_cell_file(cell.artifact_uri, store.uri)


def _rows_of_sweep(store_uri: str, artifact_uri: str) -> Rows:
    """Return the rows of a sweep's ``records.parquet`` by run id: none if it has not ended."""
    import pyarrow.parquet

    path = artifact_path(store_uri, artifact_uri, names.RECORDS_FILE)
    rows = pyarrow.parquet.read_table(path).to_pylist() if path else []
    return {row["run_id"]: row for row in rows if row.get("run_id")}


def _as_resumed(record: CellRecord, cell: RecordedCell) -> CellRecord:
    """Return a record as a later sweep sees it, with the tags that an audit may have changed since it was written."""
    resumed = replace(record, state="resumed", key=cell.key, run_id=cell.run_id)
    return resumed.with_audit_tags(audit_tags(cell.tags))
