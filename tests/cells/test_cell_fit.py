"""Fits that are scored together give what each gives alone, and one that fails costs the others nothing."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpbench.cells import cell_fit, unit_runner
from dpbench.cells.unit_runner import UnitRunner, run_unit
from dpbench.cells.work_unit import Unit
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

GRID = ("dataset=gaussian", "dataset.n=90", "dataset.d=2", "splits.repeats=2", "splits.folds=3", "model=logistic")


@pytest.fixture
def unit() -> Unit:
    """Three fits of a model whose metrics need rows, one of them with an attack as well."""
    unit_runner.last_runner.clear()
    (unit,) = plan(grid_points([*GRID, "mechanism=fm,no_privacy", "attack=none,model_inversion", "epsilon=0.5,2"])).units()
    assert len({cell.fit for cell in unit.cells}) == 3
    return unit


def test_together_cells_have_the_results_that_they_have_alone(unit, monkeypatch) -> None:
    monkeypatch.setattr(cell_fit, "MAX_SCORED_TOGETHER", 2)
    together = run_unit(unit)
    unit_runner.last_runner.clear()
    alone = [result for one in unit.one_cell_each for result in run_unit(one)]
    for ours, expected in zip(together, alone, strict=True):
        assert (ours.key, ours.error, list(ours.runs)) == (expected.key, "", list(expected.runs))
        assert ours.seconds > 0
        for found, wanted in ((ours.runs, expected.runs), (ours.curves, expected.curves)):
            for name, values in wanted.items():
                np.testing.assert_array_equal(found[name], values, name)


@pytest.mark.parametrize(("rows", "fits"), [(2, 8), (1_000_000, 8), (10_000_000, 3), (25_000_000, 1), (10**9, 1)])
def test_the_scores_of_many_rows_do_not_fill_the_memory(rows: int, fits: int) -> None:
    assert cell_fit.scored_together(SimpleNamespace(n=np.array([2.0, rows]))) == fits


def test_a_fit_that_fails_is_tried_once_and_leaves_the_others_alone(unit, monkeypatch) -> None:
    original, tried = UnitRunner.fit, []

    def fit(self, cell):
        tried.append(cell.fit)
        if cell.mechanism.name == "no_privacy":
            raise ArithmeticError
        return original(self, cell)

    monkeypatch.setattr(UnitRunner, "fit", fit)
    results = run_unit(unit)
    assert len(tried) == len(set(tried)) == 3
    for cell, result in zip(unit.cells, results, strict=True):
        assert bool(result.error) == (cell.mechanism.name == "no_privacy")


def test_if_scoring_together_fails_each_cell_is_scored_alone(unit, monkeypatch) -> None:
    monkeypatch.setattr(cell_fit, "evaluate_together", lambda metrics, predictions: 1 / 0)
    assert [result.error for result in run_unit(unit)] == [""] * len(unit.cells)
