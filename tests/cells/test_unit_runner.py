"""A unit's runner: cells share tables, sums and fits; attacks see weights only; one failing cell leaves the others alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.cells import unit_runner
from dpbench.cells.summaries import record_of
from dpbench.cells.unit_runner import UnitRunner, run_unit
from dpbench.contracts.dataset import Dataset
from dpbench.records.cell_tags import Provenance
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import SweepPlan, plan

GRID = ("dataset=census", "dataset.sample_n=300", "splits.repeats=2", "splits.folds=2")

EMPTY = '''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Fit, Mechanism, hookimpl

    @dataclass(frozen=True)
    class Empty(Mechanism):
        """Has no weights for its first run."""

        name = "empty"

        def fit(self, curator, problem, budget):
            weights = np.zeros((curator.runs, curator.geometry.dimension))
            weights[0] = np.nan
            return Fit.good(weights)

    @hookimpl
    def dpbench_mechanisms():
        return [Empty]
'''


RAISING = EMPTY.replace("empty", "raising").replace("return Fit.good(weights)", "raise ZeroDivisionError('no luck')")


@pytest.fixture
def raising(drop_in: Callable[[str], None]) -> None:
    drop_in(RAISING)


@pytest.fixture
def empty(drop_in: Callable[[str], None]) -> None:
    drop_in(EMPTY)


def run(sweep_plan: SweepPlan) -> dict[tuple[str, str, float], Any]:
    """Return the results by mechanism, attack and ε."""
    cells = {planned.cell.key: planned.cell for planned in sweep_plan.to_run if planned.cell is not None}
    results = [result for unit in sweep_plan.units() for result in run_unit(unit)]
    assert [result.error for result in results] == [""] * len(results)
    ran = [cells[result.key] for result in results]
    names = [(cell.mechanism.name, cell.attack.name, cell.settings.epsilon) for cell in ran]
    return dict(zip(names, results, strict=True))


def test_cells_that_differ_by_the_attack_only_share_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of the axes: attack=…, then ε, would otherwise come back to each fit twice, in another unit."""
    fits = []
    original = UnitRunner.curator
    monkeypatch.setattr(UnitRunner, "curator", lambda self, *arguments: fits.append(arguments) or original(self, *arguments))
    unit_runner.last_runner.clear()
    grid = ("attack=none,model_inversion,membership", "mechanism=fm,dpba", "epsilon=0.5,1,2")
    results = run(plan(grid_points([*grid, *GRID])))
    assert len(results) == 18
    assert len(fits) == 6
    for (mechanism, attack, epsilon), result in results.items():
        np.testing.assert_array_equal(result.runs["weights"], results[mechanism, "none", epsilon].runs["weights"])
        assert any(name.startswith("attack/") for name in result.runs) == (attack != "none")


def test_shadow_fits_are_the_mechanism_with_noise_of_its_own() -> None:
    """On the very splits of the runs: without noise the same weights, with noise none of them."""
    (unit,) = plan(grid_points(["mechanism=fm,no_privacy", "attack=membership", "epsilon=1", *GRID])).units()
    runner = UnitRunner(unit)
    noisy, exact = (runner.fit(cell) for cell in unit.cells)
    np.testing.assert_array_equal(runner.refitted(exact, runner.block), exact.fit.weights)
    again = runner.refitted(noisy, runner.block)
    assert (again != noisy.fit.weights).all()
    assert len(np.unique(again[:, 0])) == 4, "each run has its own"
    np.testing.assert_array_equal(again, runner.refitted(noisy, runner.block))


@pytest.mark.usefixtures("empty")
def test_a_run_without_weights_is_not_attacked_but_its_controls_stand() -> None:
    (result,) = run(plan(grid_points(["mechanism=empty", "attack=model_inversion", *GRID]))).values()
    assert np.isnan(result.runs["attack/accuracy_train"][0])
    assert np.isfinite(result.runs["attack/accuracy_train"][1:]).all()
    assert np.isfinite(result.runs["attack/control/imputation/accuracy_train"]).all()


@pytest.mark.parametrize("model", ["linear", "ridge", "lasso"])
def test_a_model_with_zeros_has_them_counted_and_a_chosen_penalty_is_recorded(model: str) -> None:
    penalty = ("model.penalty=cv",) if model != "linear" else ()
    ((_, result),) = run(plan(grid_points([*GRID, f"model={model}", *penalty, "mechanism=no_privacy", "epsilon=1"]))).items()
    assert ("health/nonzero" in result.runs) == (model == "lasso")
    assert ("health/penalty" in result.runs) == (model != "linear")
    if model == "lasso":
        weights = result.runs["weights"][:, 1:]  # without the intercept
        assert result.runs["health/nonzero"].tolist() == (weights != 0).sum(axis=1).tolist()
        assert result.runs["health/nonzero"].min() < weights.shape[1]


def test_a_record_holds_the_attack_with_bounds_and_one_cap() -> None:
    sweep_plan = plan(grid_points(["mechanism=fm,no_privacy", "epsilon=0.8", "attack=none,model_inversion", *GRID]))
    cells = {planned.cell.key: planned.cell for planned in sweep_plan.to_run if planned.cell is not None}
    for result in run(sweep_plan).values():
        cell = cells[result.key]
        metrics = record_of(cell, [result], {}, Provenance(False, 0, "plugins 1", "2", "cpu"), "rmse").metrics
        if cell.attack.name == "none":
            assert not [name for name in metrics if name.startswith("attack/")]
            continue
        assert metrics["attack/cap"] == (1 if cell.mechanism.name == "no_privacy" else pytest.approx(np.tanh(0.4)))
        for name in ("accuracy_train", "accuracy_test", "balanced_accuracy", "auc", "advantage", "control/imputation/advantage"):
            assert metrics[f"attack/{name}_ci_low"] <= metrics[f"attack/{name}_mean"] <= metrics[f"attack/{name}_ci_high"]


def test_shadow_fits_draw_no_table_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is redrawn for each repeat is drawn once per pass over the repeats, not once more per shadow fit."""
    grid = ("dataset=gaussian", "dataset.n=60", "dataset.d=2", "dataset.redraw=true", "splits=holdout", "splits.repeats=6")
    (unit,) = plan(grid_points([*grid, "attack=membership", "attack.fits=8", "attack.targets=20"])).units()
    draws = []
    original = Dataset.select
    monkeypatch.setattr(Dataset, "select", lambda self, generator: draws.append(self) or original(self, generator))
    unit_runner.last_runner.clear()
    (result,) = run_unit(unit)
    assert result.error == ""
    assert len(draws) <= 18, "three passes over six repeats: counts, sums, and the rows that are attacked"


@pytest.mark.usefixtures("raising")
def test_a_failing_cell_leaves_the_other_cells_of_its_unit_alone() -> None:
    (unit,) = plan(grid_points(["mechanism=raising,fm", *GRID])).units()
    failed, passed = run_unit(unit)
    assert failed.error.startswith("ZeroDivisionError: no luck (dropped_in.py:")
    assert failed.runs == {}
    assert passed.error == ""


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize(("returned", "words"), [("weights", "must return a dpbench.Fit"), ("Fit.good(weights[:1])", "of shape")])
def test_a_mechanism_that_returns_no_fit_for_every_run_fails(drop_in: Callable[[str], None], returned: str, words: str) -> None:
    drop_in(EMPTY.replace("Fit.good(weights)", returned))
    (unit,) = plan(grid_points(["mechanism=empty", *GRID])).units()
    (result,) = run_unit(unit)
    assert words in result.error


UNSURE = '''
    from dataclasses import dataclass

    from dpbench import Fit, Mechanism, hookimpl
    from dpbench.contracts.uncertainty import Uncertainty

    class Raises(Uncertainty):
        methods = ("covariance",)

        def intervals(self, request):
            raise ZeroDivisionError("a row says 42")

    @dataclass(frozen=True)
    class Unsure(Mechanism):
        """Cannot make the intervals that it announces."""

        name = "unsure"

        def fit(self, curator, problem, budget):
            fit = curator.reveal("exact fit", problem.exact, "a test")
            return fit.knowing(Raises())

    @hookimpl
    def dpbench_mechanisms():
        return [Unsure]
'''


def test_intervals_that_cannot_be_made_cost_no_other_number(drop_in: Callable[[str], None]) -> None:
    drop_in(UNSURE)
    ((_, result),) = run(plan(grid_points(["mechanism=unsure", *GRID]))).items()
    assert not result.error
    assert np.isfinite(result.runs["utility/mse"]).all()
    assert result.intervals.sentences == ("No intervals: making them failed with ZeroDivisionError.",)
