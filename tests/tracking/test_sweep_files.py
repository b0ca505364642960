"""A sweep comes back from its files, and its plan can be read by any program."""

from __future__ import annotations

import csv
from pathlib import Path

from dpbench.records.cell_record import CellDetail, CellRecord, DetailInMemory
from dpbench.records.metric_info import MetricInfo
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.sweep_files import read_sweep_files, write_sweep_files

CELLS = (
    CellRecord(
        "run", {"mechanism": "fm", "epsilon": "0.8"}, {"dpbench.sound": "true"}, {"utility/rmse_median": 0.25}, run_id="a"
    ),
    CellRecord("pruned", {"mechanism": "fm", "model": "robust", "epsilon": "0.8"}, reason="fm, on robust: no"),
)


def test_a_sweep_comes_back_from_its_files(tmp_path: Path) -> None:
    info = {"utility/rmse": MetricInfo("utility/rmse", "RMSE", "The error.", "lower")}
    sweep = SweepRecord(CELLS, "command", ("epsilon=0.8",), quick=True, option_help={"mechanism.ridge": "λ"}, metric_info=info)
    write_sweep_files(sweep, tmp_path)
    run_ids: list[str] = []

    def detail(run_id: str) -> CellDetail:
        run_ids.append(run_id)
        return DetailInMemory()

    read = read_sweep_files(tmp_path / "records.parquet", tmp_path / "sweep.json", "parent", detail)
    assert read.cells == CELLS
    assert read.request() == sweep.request()
    assert read.run_id == "parent"
    assert run_ids == ["a", ""], "a pruned cell has no run"


def test_the_plan_has_a_row_per_cell_with_the_reason(tmp_path: Path) -> None:
    write_sweep_files(SweepRecord(CELLS, "command"), tmp_path)
    rows = list(csv.DictReader((tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["state"], row["why"], row["mechanism"], row["model"]) for row in rows] == [
        ("run", "", "fm", ""),
        ("pruned", "fm, on robust: no", "fm", "robust"),
    ]
