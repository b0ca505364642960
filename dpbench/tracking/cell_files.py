"""Write and read the files of a cell: its configuration, its ledger, and tables of its runs and curves."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import CONFIG_FILE, CURVES_FILE, LEDGER_FILE, RUNS_FILE
from dpbench.tracking.store import artifact_path

Content = TypeVar("Content")


def write_cell_files(record: CellRecord, folder: Path) -> None:
    """Write ``config.yaml``, ``ledger.json``, ``runs.parquet`` and ``curves.parquet``, leaving out those that would be empty."""
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    detail = record.detail
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the C version is in every wheel, and ten times faster
    text = yaml.dump(_plain(detail.config), Dumper=dumper, sort_keys=False, allow_unicode=True)
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
    if detail.ledger:
        text = json.dumps(_plain(detail.ledger), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / LEDGER_FILE).write_text(text + "\n", encoding="utf-8")
    if detail.runs:
        _write_table(detail.runs, folder / RUNS_FILE)
    if detail.curves:
        _write_table(_stacked(detail.curves), folder / CURVES_FILE)


@dataclass(frozen=True)
class StoredDetail:
    """The detail of a recorded cell: each file is read when it is first needed."""

    store_uri: str
    artifact_uri: str
    """Where the run's artifacts are: asking the store for it would take longer than reading them."""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        import yaml

        return self._read(CONFIG_FILE, lambda path: dict(yaml.safe_load(path.read_text(encoding="utf-8"))))

    @cached_property
    def ledger(self) -> Mapping[str, Any]:
        return self._read(LEDGER_FILE, lambda path: dict(json.loads(path.read_text(encoding="utf-8"))))

    @cached_property
    def runs(self) -> Mapping[str, np.ndarray]:
        return self._read(RUNS_FILE, _read_table)

    @cached_property
    def curves(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        return self._read(CURVES_FILE, read_curves)

    def _read(self, name: str, reader: Callable[[Path], dict[str, Content]]) -> Mapping[str, Content]:
        """Return the content of a file, or nothing if the cell has no such file."""
        path = artifact_path(self.store_uri, self.artifact_uri, name)
        return reader(path) if path else {}


def read_curves(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """Return the curves of ``curves.parquet`` by name."""
    table = _read_table(path)
    names = table.pop("curve")
    return {
        name: {column: values[names == name] for column, values in table.items() if np.isfinite(values[names == name]).all()}
        for name in dict.fromkeys(names.tolist())
    }


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


def _stacked(curves: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return one table of all curves. A curve that no run has keeps its points; its other columns are NaN."""
    names = dict.fromkeys(column for curve in curves.values() for column in curve)
    sizes = [len(curve["x"]) for curve in curves.values()]
    columns = {
        name: np.concatenate([curve.get(name, np.full(size, np.nan)) for curve, size in zip(curves.values(), sizes, strict=True)])
        for name in names
    }
    return {"curve": np.repeat(list(curves), sizes), **columns}


def _write_table(columns: Mapping[str, np.ndarray], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({name: _column(values) for name, values in columns.items()}), path)


def _column(values: np.ndarray) -> Any:
    """Return a column. Rows of several numbers become lists, which pandas reads back as one array per row."""
    import pyarrow

    if values.ndim == 1:
        return pyarrow.array(values)
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows.shape[1])


def _read_table(path: Path) -> dict[str, np.ndarray]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}
