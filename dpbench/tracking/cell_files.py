"""Write and read the files of a cell: its configuration, its ledger, and tables of its runs and curves."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import CLIPPED_FILE, CONFIG_FILE, CURVES_FILE, INTERVALS_FILE, LEDGER_FILE, RUNS_FILE
from dpbench.tracking.store import artifact_path

PRIVATE_SHARES = "Computed on the private rows, and covered by no epsilon: do not publish these numbers."


def write_cell_files(record: CellRecord, folder: Path) -> None:
    """Write every file that is not empty: the configuration, the ledger, shares of clipped values, intervals, tables."""
    import pandas
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    detail = record.detail
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the C version is in every wheel, and ten times faster
    text = yaml.dump(_plain(detail.config), Dumper=dumper, sort_keys=False, allow_unicode=True)
    (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
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


@dataclass(frozen=True)
class StoredDetail:
    """The detail of a recorded cell: each file is read when it is first needed."""

    store_uri: str
    artifact_uri: str
    """Where the run's artifacts are: asking the store for it would take longer than reading them."""

    @cached_property
    def config(self) -> Mapping[str, Any]:
        import yaml

        return self._read(CONFIG_FILE, lambda path: yaml.safe_load(path.read_text(encoding="utf-8")))

    @cached_property
    def ledger(self) -> Mapping[str, Any]:
        return self._read(LEDGER_FILE, _read_json)

    @cached_property
    def clipped(self) -> Mapping[str, float]:
        shares: Mapping[str, float] = self._read(CLIPPED_FILE, _read_json).get("features", {})
        return shares

    @cached_property
    def intervals(self) -> Mapping[str, Mapping[str, float]]:
        return self._read(INTERVALS_FILE, _read_json)

    @cached_property
    def runs(self) -> Mapping[str, np.ndarray]:
        return self._read(RUNS_FILE, _read_table)

    @cached_property
    def curves(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        table = self._read(CURVES_FILE, _read_table)
        names = table.pop("curve", np.array([]))
        return {
            name: {column: values[names == name] for column, values in table.items() if np.isfinite(values[names == name]).all()}
            for name in dict.fromkeys(names.tolist())
        }

    def _read(self, name: str, reader: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """Return the content of a file, or nothing if the cell has no such file."""
        path = artifact_path(self.store_uri, self.artifact_uri, name)
        return reader(path) if path else {}


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


def _read_json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _write_table(columns: Mapping[str, np.ndarray], path: Path) -> None:
    """Write a table. Rows of several numbers become lists, which pandas reads back as one array per row."""
    import pyarrow
    import pyarrow.parquet

    arrays = {name: values if values.ndim == 1 else list(values.reshape(len(values), -1)) for name, values in columns.items()}
    pyarrow.parquet.write_table(pyarrow.table(arrays), path)


def _read_table(path: Path) -> dict[str, np.ndarray]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}
