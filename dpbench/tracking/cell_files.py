"""The files that stay with a cell: its configuration, its ledger, and one row for each of its runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.records.cell_record import CellRecord


def write_files(record: CellRecord, folder: Path) -> None:
    """Write ``config.yaml``, ``ledger.json``, ``runs.parquet`` and ``curves.parquet``; what a cell does not have is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_config(record.detail.config, folder / "config.yaml")
    if record.detail.ledger:
        text = json.dumps(plain(record.detail.ledger), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / "ledger.json").write_text(text + "\n", encoding="utf-8")
    if record.detail.runs:
        _write_table(record.detail.runs, folder / "runs.parquet")
    if record.detail.curves:
        _write_table(_long(record.detail.curves), folder / "curves.parquet")


def plain(value: Any) -> Any:
    """The value as JSON and YAML know it: NumPy's numbers as Python's, and null for a number that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _write_config(config: Mapping[str, Any], path: Path) -> None:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the C one is there in every wheel, and ten times faster
    path.write_text(yaml.dump(plain(config), Dumper=dumper, sort_keys=False, allow_unicode=True), encoding="utf-8")


def read_runs(path: Path) -> dict[str, np.ndarray]:
    """The columns of ``runs.parquet``."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def read_curves(path: Path) -> dict[str, dict[str, np.ndarray]]:
    """The curves of ``curves.parquet``, by their names."""
    table = read_runs(path)
    names = table.pop("curve")
    return {
        name: {column: values[names == name] for column, values in table.items() if np.isfinite(values[names == name]).all()}
        for name in dict.fromkeys(names.tolist())
    }


def _long(curves: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The curves below each other; a curve that no run has keeps its points alone."""
    names = list(dict.fromkeys(column for curve in curves.values() for column in curve))
    sizes = {name: len(curve["x"]) for name, curve in curves.items()}
    columns = {
        column: np.concatenate([curve.get(column, np.full(sizes[name], np.nan)) for name, curve in curves.items()])
        for column in names
    }
    return {"curve": np.repeat(list(sizes), list(sizes.values())), **columns}


def _write_table(columns: Mapping[str, np.ndarray], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({name: _column(values) for name, values in columns.items()}), path)


def _column(values: np.ndarray) -> Any:
    """A column; rows of more than one number become lists, which pandas reads back as one array a row."""
    import pyarrow

    if values.ndim == 1:
        return pyarrow.array(values)
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows.shape[1])
