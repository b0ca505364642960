"""Cells on a streamed table have the bits of cells on the loaded one, on every engine; a broken file fails its own cells."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.base.phases import clock
from dpbench.cells import loading, unit_runner
from dpbench.cells.streaming import StreamedRows, ranges_of
from dpbench.records.cell_record import CellRecord
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.engines.choice import engine_from
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import SweepPlan, plan
from dpbench.sweeps.running import run_cells

pyarrow = pytest.importorskip("pyarrow")
GRID = ("mechanism=fm,ssp,no_privacy", "epsilon=0.5,5", "clipped=true", "inference.method=delta")
BOUNDS = "{a:[-1,1],b:[0,4],kind:{levels:[x,y,z]},pay:[-2,3]}"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same 50,000 rows as Parquet, in row groups that no block fits, and as CSV; and a Parquet file of 600,000 rows."""
    from pyarrow import csv, parquet

    folder = tmp_path_factory.mktemp("tables")
    files = {"parquet": folder / "rows.parquet", "csv": folder / "rows.csv", "many": folder / "many.parquet"}
    table = rows(50_000)
    parquet.write_table(table, files["parquet"], row_group_size=7_777)
    csv.write_csv(table, files["csv"])
    parquet.write_table(rows(600_000), files["many"], row_group_size=100_001)
    return files


def rows(count: int) -> Any:
    generator = np.random.default_rng(0)
    a, b = generator.uniform(-1.1, 1.1, count), generator.integers(0, 5, count)
    kinds = generator.integers(3, size=count)
    pay = a - b / 4 + kinds + generator.normal(0, 0.5, count)
    return pyarrow.table({"a": a, "b": b, "kind": np.array(["x", "y", "z"])[kinds], "pay": pay})


def planned(path: Path, *overrides: str, streamed: bool = True, bounds: str = BOUNDS) -> SweepPlan:
    table = ("dataset=table", f"dataset.path={path}", "dataset.target=pay", f"dataset.bounds={bounds}")
    splits = () if any(key.startswith("splits") for key in overrides) else ("splits.repeats=2", "splits.folds=2")
    return plan(grid_points([*table, f"dataset.stream={str(streamed).lower()}", "splits.by=blocks", *splits, *overrides]))


def records(plan: SweepPlan, engine: str = "serial", workers: int | None = None) -> list[CellRecord]:
    loading.last_rows.clear()
    unit_runner.last_runner.clear()
    keys = dict.fromkeys(("timeout", "scheduler", "address", "folder"))
    found: list[CellRecord] = []
    run_cells(plan, engine_from({"name": engine, "workers": workers, **keys}), found.append, Audits(plan, {}))
    order = [cell.cell.key for cell in plan.cells]
    return sorted(found, key=lambda record: order.index(record.key))


def numbers(found: Iterable[CellRecord]) -> list[Any]:
    """Everything about the cells but their keys, their options and what a clock says, to the bit."""
    return [
        (
            record.state,
            {name: value.hex() for name, value in record.metrics.items() if not name.startswith("time/")},
            {name: np.asarray(column).tobytes() for name, column in record.detail.runs.items()},
            record.detail.intervals,
        )
        for record in found
    ]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("splits", [("splits.repeats=2", "splits.folds=3"), ("splits=holdout", "splits.repeats=3")])
def test_a_streamed_table_gives_the_numbers_of_the_loaded_one(kind: str, splits: tuple[str, ...], paths: dict[str, Path]) -> None:
    loaded = numbers(records(planned(paths[kind], *GRID, *splits, streamed=False)))
    assert numbers(records(planned(paths[kind], *GRID, *splits))) == loaded
    assert "utility/rmse_clipped_median" in loaded[0][1]


def test_so_do_histograms_whose_bins_are_counted_in_one_pass_for_each_repeat(paths: dict[str, Path]) -> None:
    histograms = ("mechanism=dpme,fp", "epsilon=0.5,5")
    loaded = records(planned(paths["parquet"], *histograms, streamed=False))
    assert [record.state for record in loaded] == ["run"] * 4
    assert numbers(records(planned(paths["parquet"], *histograms))) == numbers(loaded)


def test_the_seconds_of_the_pass_are_seconds_of_statistics(paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_seconds", {})
    before = time.process_time()
    records(planned(paths["many"], "mechanism=fm"))
    assert 0.01 < clock.seconds["statistics"] < time.process_time() - before


@pytest.mark.parametrize("model", ["ridge", "lasso"])
def test_so_do_other_models_scalings_and_matched_budgets(model: str, paths: dict[str, Path]) -> None:
    grid = (f"model={model}", "dataset.scaling=ball", "mechanism=adassp,dpba,cdp_irls", "budget=matched", "epsilon=2")
    assert numbers(records(planned(paths["csv"], *grid))) == numbers(records(planned(paths["csv"], *grid, streamed=False)))


def test_so_does_a_transformed_target_whose_errors_need_another_pass(paths: dict[str, Path]) -> None:
    bounds = BOUNDS.replace("pay:[-2,3]", "pay:{low:0.5,high:3,transform:log}")
    streamed, loaded = (
        numbers(records(planned(paths["parquet"], "mechanism=fm", "epsilon=1", bounds=bounds, streamed=way)))
        for way in (True, False)
    )
    assert streamed == loaded
    assert "utility/rmse_raw_median" in streamed[0][1]


@pytest.mark.long
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_any_number_of_workers_adds_up_to_the_same_bits(
    engine: str, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "dask" and importlib.util.find_spec("distributed") is None:
        pytest.skip("Dask is not installed: pip install -e '.[dask]'")
    plan = planned(paths["many"], "mechanism=fm,no_privacy", "epsilon=1")
    assert [len(ranges_of(plan.cells[0].cell, workers)) for workers in (1, 2, 3)] == [1, 2, 2]
    expected = numbers(records(plan))
    for workers in (1, 2, 3):
        monkeypatch.setattr(clock, "_seconds", {})
        assert numbers(records(plan, engine, workers)) == expected
        assert clock.seconds["statistics"] > 0.01, "the workers' seconds are counted, too"


def test_a_value_that_is_no_number_fails_the_cells_of_its_table_alone(paths: dict[str, Path], tmp_path: Path) -> None:
    lines = paths["csv"].read_text().splitlines()
    lines[40_001] = 'secret,1,"x",0.5'
    (tmp_path / "broken.csv").write_text("\n".join(lines))
    found = records(planned(tmp_path / "broken.csv", "mechanism=fm", "epsilon=1,2"))
    assert [record.state for record in found] == ["failed", "failed"]
    assert "The column 'a' of broken.csv must hold numbers. Row 40001 holds something else." in found[0].reason
    assert "secret" not in found[0].reason


def test_sums_of_fewer_rows_than_were_planned_are_refused(paths: dict[str, Path]) -> None:
    source = loading.rows_of(planned(paths["parquet"], "mechanism=fm").cells[0].cell)
    assert isinstance(source, StreamedRows)
    with pytest.raises(Refused, match="has changed since it was read"):
        source.take(source.sums_of(0, 3))
