"""Write and read the files of a cell: its record, its configuration, its ledger, and tables of its runs and curves."""

import json
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.base.yaml_text import parse_yaml
from dpbench.records.cell_record import CellDetail, CellRecord
from dpbench.records.names import (
    CELL_FILE,
    CLIPPED_FILE,
    CONFIG_FILE,
    CURVES_FILE,
    INTERVALS_FILE,
    LEDGER_FILE,
    RUNS_FILE,
    TRACEBACK_FILE,
)
from dpbench.tracking.store import artifact_path

PRIVATE_SHARES = "Computed on the private rows, and covered by no epsilon: do not publish these numbers."


FIELDS = ("key", "state", "reason", "primary", "params", "tags", "metrics")
"""The fields of a record that its file holds: all but its run and its detail."""
FILES = "files"
"""The key of that file under which it lists the others, so that a missing one is noticed."""
MAX_CACHED_COLUMNS = 512
"""Columns of runs.parquet that are kept in memory: the cells that others are compared with are read again and again."""


def write_cell_files(record: CellRecord, folder: Path) -> None:
    """Write the record, and every other file that is not empty. The files of a cell that is stored already are copied."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(record.detail, StoredDetail):
        record.detail.copy_to(folder)
    else:
        _write_detail(record.detail, folder)
    files = sorted(path.name for path in folder.iterdir())
    _write_json({**{name: getattr(record, name) for name in FIELDS}, FILES: files}, folder / CELL_FILE)


def _write_detail(detail: CellDetail, folder: Path) -> None:
    import pandas
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the C version is in every wheel, and ten times faster
    text = yaml.dump(_plain(detail.config), Dumper=dumper, sort_keys=False, allow_unicode=True)
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    if detail.traceback:
        (folder / TRACEBACK_FILE).write_text(f"{detail.traceback}\n", encoding="utf-8")
    if detail.ledger:
        _write_json(detail.ledger, folder / LEDGER_FILE)
    if detail.clipped:
        _write_json({"note": PRIVATE_SHARES, "features": detail.clipped}, folder / CLIPPED_FILE)
    if detail.intervals:
        _write_json(detail.intervals, folder / INTERVALS_FILE)
    if detail.runs:
        _write_table(detail.runs, folder / RUNS_FILE)
    if detail.curves:
        # the columns that a curve lacks become NaN
        stacked = pandas.concat([pandas.DataFrame({"curve": name, **curve}) for name, curve in detail.curves.items()])
        _write_table({name: stacked[name].to_numpy() for name in stacked}, folder / CURVES_FILE)


def fields_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record from the content of its file."""
    return {name: content[name] for name in FIELDS}


@dataclass(frozen=True)
class StoredDetail:
    """The detail of a recorded cell: each file is read when it is first needed."""

    store_uri: str
    artifact_uri: str
    """Where the run's artifacts are: asking the store for it would take longer than reading them."""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self._read(CONFIG_FILE, lambda path: parse_yaml(path.read_text(encoding="utf-8")))

    @cached_property
    def ledger(self) -> Mapping[str, Any]:
        return self._read(LEDGER_FILE, read_json)

    @cached_property
    def traceback(self) -> str:
        path = artifact_path(self.store_uri, self.artifact_uri, TRACEBACK_FILE)
        return path.read_text(encoding="utf-8").rstrip() if path else ""

    @cached_property
    def clipped(self) -> Mapping[str, float]:
        shares: Mapping[str, float] = self._read(CLIPPED_FILE, read_json).get("features", {})
        return shares

    @cached_property
    def intervals(self) -> Mapping[str, Mapping[str, float]]:
        return self._read(INTERVALS_FILE, read_json)

    @cached_property
    def runs(self) -> Mapping[str, np.ndarray]:
        path = artifact_path(self.store_uri, self.artifact_uri, RUNS_FILE)
        return _Columns(path) if path else {}

    @cached_property
    def curves(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        table = self._read(CURVES_FILE, _read_table)
        names = table.pop("curve", np.array([]))
        return {
            name: {column: values[names == name] for column, values in table.items() if np.isfinite(values[names == name]).all()}
            for name in dict.fromkeys(names.tolist())
        }

    def copy_to(self, folder: Path) -> None:
        """Copy the files that a record's own file does not replace."""
        for name in (CONFIG_FILE, LEDGER_FILE, CLIPPED_FILE, INTERVALS_FILE, RUNS_FILE, CURVES_FILE, TRACEBACK_FILE):
            if path := artifact_path(self.store_uri, self.artifact_uri, name):
                shutil.copyfile(path, folder / name)

    def _read(self, name: str, reader: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """Return the content of a file, or nothing if the cell has no such file."""
        path = artifact_path(self.store_uri, self.artifact_uri, name)
        return reader(path) if path else {}


@dataclass(frozen=True)
class _Columns(Mapping[str, np.ndarray]):
    """The columns of a table, each read when it is needed: a report of thousands of cells needs two or three of each."""

    path: Path

    @cached_property
    def _names(self) -> tuple[str, ...]:
        import pyarrow.parquet

        return tuple(pyarrow.parquet.read_schema(self.path).names)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._names:
            raise KeyError(name)
        return _read_column(self.path, self.path.stat().st_mtime_ns, name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@lru_cache(MAX_CACHED_COLUMNS)
def _read_column(path: Path, changed: int, name: str) -> np.ndarray:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:  # read_table takes five times as long for one column
        values: np.ndarray = file.read(columns=[name])[name].to_numpy()
    return values


def _plain(value: Any) -> Any:
    """Return the value as JSON and YAML know it: Python's numbers for NumPy's, and null for those that are not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _write_json(content: Mapping[str, Any], path: Path) -> None:
    text = json.dumps(_plain(content), indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file that :func:`write_cell_files` wrote."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _write_table(columns: Mapping[str, np.ndarray], path: Path) -> None:
    """Write a table. Rows of several numbers become lists, which pandas reads back as one array per row."""
    import pyarrow
    import pyarrow.parquet

    arrays = {name: values if values.ndim == 1 else list(values.reshape(len(values), -1)) for name, values in columns.items()}
    # most columns are measured numbers, which no dictionary shortens and nobody searches
    pyarrow.parquet.write_table(pyarrow.table(arrays), path, use_dictionary=False, write_statistics=False)


def _read_table(path: Path) -> dict[str, np.ndarray]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}
