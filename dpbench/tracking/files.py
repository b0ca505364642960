"""The files that stay with a cell: its configuration, its ledger, and one row for each of its runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.bench.record import Record


def write_files(record: Record, folder: Path) -> None:
    """Write ``config.yaml``, ``ledger.json`` and ``runs.parquet``; what a failed cell does not have is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_config(record.config, folder / "config.yaml")
    if record.ledger:
        text = json.dumps(plain(record.ledger), indent=1, ensure_ascii=False, allow_nan=False)
        (folder / "ledger.json").write_text(text + "\n", encoding="utf-8")
    if record.runs:
        _write_runs(record.runs, folder / "runs.parquet")


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


def _write_runs(runs: Mapping[str, np.ndarray], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({name: _column(values) for name, values in runs.items()}), path)


def _column(values: np.ndarray) -> Any:
    """A column; rows of more than one number become lists, which pandas reads back as one array a row."""
    import pyarrow

    if values.ndim == 1:
        return pyarrow.array(values)
    rows = np.ascontiguousarray(values).reshape(len(values), -1)
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows.shape[1])
