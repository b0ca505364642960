"""Write and read the files of a sweep: its plan, the records of its cells, and its request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from dpbench.records.cell_record import CellDetail, CellRecord
from dpbench.records.names import PLAN_FILE, RECORDS_FILE, REQUEST_FILE
from dpbench.records.sweep_record import SweepRecord


def write_sweep_files(sweep: SweepRecord, folder: Path) -> None:
    """Write ``plan.csv``, ``records.parquet`` and ``sweep.json``."""
    import pandas

    plan = [{"state": cell.state, "why": cell.reason, **cell.params} for cell in sweep.cells]
    pandas.DataFrame(plan).to_csv(folder / PLAN_FILE, index=False)
    pandas.DataFrame([cell.as_columns() for cell in sweep.cells]).to_parquet(folder / RECORDS_FILE, index=False)
    (folder / REQUEST_FILE).write_text(json.dumps(sweep.request(), indent=1, ensure_ascii=False), encoding="utf-8")


def read_sweep_files(records: Path, request: Path, run_id: str, detail: Callable[[str], CellDetail]) -> SweepRecord:
    """Return the sweep of these two files; ``detail`` returns the detail of a cell's run."""
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(records).to_pylist()
    cells = tuple(CellRecord.from_columns(row, detail(row.get("run_id") or "")) for row in rows)
    return SweepRecord.from_request(json.loads(request.read_text(encoding="utf-8")), cells, run_id)
