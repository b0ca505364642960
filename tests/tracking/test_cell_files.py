"""What is written into a cell's files is read back from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.tracking.cell_files import StoredDetail, write_cell_files

MakeRecord = Callable[..., CellRecord]


def test_a_cells_detail_comes_back_from_its_files(tmp_path: Path, make_record: MakeRecord) -> None:
    detail = make_record(curves={"utility/roc": {"x": np.linspace(0, 1, 3), "mean": np.array([0.0, 0.5, 1.0])}}).detail
    write_cell_files(make_record(curves=detail.curves), tmp_path)
    stored = StoredDetail("sqlite:///unused.db", tmp_path.as_uri())
    assert stored.config == detail.config
    assert stored.ledger == detail.ledger
    np.testing.assert_array_equal(stored.runs["utility/rmse"], detail.runs["utility/rmse"])
    np.testing.assert_array_equal(stored.curves["utility/roc"]["mean"], [0.0, 0.5, 1.0])


def test_a_file_without_content_is_left_out_and_read_as_empty(tmp_path: Path, make_failure: MakeRecord) -> None:
    write_cell_files(make_failure(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cell.json", "config.yaml"]
    stored = StoredDetail("sqlite:///unused.db", tmp_path.as_uri())
    assert (stored.ledger, stored.runs, stored.curves, stored.clipped) == ({}, {}, {}, {})


def test_the_shares_of_clipped_values_say_in_their_file_that_they_are_private(tmp_path: Path) -> None:
    shares = {"hours per week": 0.97, "age": 0.0}
    write_cell_files(CellRecord("run", {}, detail=DetailInMemory(clipped=shares)), tmp_path)
    assert "private rows" in json.loads((tmp_path / "clipped.json").read_text())["note"]
    assert StoredDetail("sqlite:///unused.db", tmp_path.as_uri()).clipped == shares


def test_rows_of_several_numbers_become_lists(tmp_path: Path) -> None:
    weights = np.arange(6.0).reshape(2, 3)
    write_cell_files(CellRecord("run", {}, detail=DetailInMemory(runs={"weights": weights})), tmp_path)
    np.testing.assert_array_equal(np.stack(list(pd.read_parquet(tmp_path / "runs.parquet")["weights"])), weights)


def test_numbers_that_json_and_yaml_do_not_know_become_null(tmp_path: Path) -> None:
    numbers = {
        "total": {"epsilon": float("inf"), "delta": np.float64(0.5)},
        "sound": np.bool_(True),
        "scale": np.array([1.0, np.nan]),
    }
    write_cell_files(CellRecord("run", {}, detail=DetailInMemory(config=numbers, ledger=numbers)), tmp_path)
    expected = {"total": {"epsilon": None, "delta": 0.5}, "sound": True, "scale": [1.0, None]}
    assert json.loads((tmp_path / "ledger.json").read_text()) == expected
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == expected


def test_a_curve_that_no_run_has_keeps_its_points(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 5)
    curves = {"utility/roc": {"x": x}, "reference/no_privacy/roc": {"x": x, "mean": x**2}}
    write_cell_files(CellRecord("run", {}, detail=DetailInMemory(curves=curves)), tmp_path)
    read = StoredDetail("sqlite:///unused.db", tmp_path.as_uri()).curves
    assert list(read) == list(curves)
    assert list(read["utility/roc"]) == ["x"]
    np.testing.assert_array_equal(read["reference/no_privacy/roc"]["mean"], x**2)
