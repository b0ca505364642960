"""The page of the study of intervals."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.records.cell_record import CellRecord, DetailInMemory


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("inference")


def cell(
    mean: float, method: str = "delta", mechanism: str = "ssp", design: str = "weak", least: float = 0.94, floored: float = 0.0
) -> CellRecord:
    params = {"mechanism": mechanism, "dataset": design, "epsilon": "1", "inference.method": method}
    metrics = {
        "inference/coverage_mean": mean,
        "inference/coverage_ci_low": mean - 0.01,
        "inference/width_ratio_median": 3.0,
        "health/interval_floored": floored,
    }
    row = {"coverage": mean, "reference_coverage": 0.951}
    table = {"intercept": {**row, "reference_coverage": 0.8}, "x1": row, "x2": {**row, "coverage": least}}
    return CellRecord("run", params, {}, metrics, "rmse", detail=DetailInMemory(intervals=table))


def test_a_row_has_every_method_with_its_monte_carlo_interval(script) -> None:
    (row,) = script.method_rows([cell(0.1, "naive"), cell(0.95), cell(0.955, "bootstrap", least=0.91)])
    assert row == (
        "weak", "1", "0.000", "0.100 ± 0.010", "0.950 ± 0.010", "0.955 ± 0.010", "0.940, 0.910", "3, 3", "0.951 (0.800)",
    )  # fmt: skip


def test_cells_outside_of_the_band_are_named(script) -> None:
    good, wide, low = cell(0.95), cell(0.98, design="t4"), cell(0.93, design="binary")
    first, *_ = script.verdicts([good, wide, low])
    assert "from 0.930 to 0.980 in the 3 cells" in first
    assert "t4 at ε = 1, binary at ε = 1" in first


def test_where_the_floor_is_active_intervals_may_be_wide_but_not_narrow(script) -> None:
    assert "with the floor: none." in next(script.verdicts([cell(0.99, floored=0.5)]))
    assert "with the floor: weak at ε = 1." in next(script.verdicts([cell(0.93, floored=0.5)]))


def test_a_single_coefficient_is_named_except_with_heteroscedastic_errors(script) -> None:
    assert "errors: weak at ε = 1." in next(script.verdicts([cell(0.95, least=0.89)]))
    assert "errors: none." in next(script.verdicts([cell(0.95, least=0.89, design="heteroscedastic")]))


def test_a_cell_in_which_hardly_a_slope_has_an_interval_is_listed_and_has_no_row(script) -> None:
    def descent(shown: float) -> CellRecord:
        row = {"coverage": 0.96, "reference_coverage": 0.951, "shown": shown}
        known = cell(0.95, "iterates", "dp_gd", "collinear" if shown < 0.05 else "binary")
        params = {**known.params, "inference.covers": "population"}
        return replace(
            known, params=params, detail=DetailInMemory(intervals={"x1": row, "x2": {"shown": 0.0, "reference_coverage": 1}})
        )

    cells = [descent(0.04), descent(0.8)]
    assert script.refused(cells, "dataset").endswith("infinite: collinear at ε = 1.")
    (row,) = script.other_rows(cells, "dataset")
    assert row == ("binary", "1", "population", "0.40", "0.950 ± 0.010", "0.960", "3", "0.976 (0.951)")


def test_a_cell_without_intervals_has_no_row(script) -> None:
    empty = CellRecord("run", {**cell(0.95).params}, {"dpbench.intervals": "No intervals: a reason."}, {}, "rmse")
    assert list(script.method_rows([empty])) == []
    assert list(script._reasons([empty])) == ["- No intervals: a reason.\n"]
