"""Attacks in a work unit: they share the fit, leave out what is no fit, and are held against the cap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.cells import work_unit as unit_module
from dpbench.cells.summaries import record_of
from dpbench.cells.work_unit import run_unit
from dpbench.contracts.attack import advantage_cap
from dpbench.records.cell_record import Provenance
from dpbench.sweeps.grid import loaded
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


@pytest.fixture
def empty(drop_in: Callable[[str], None]) -> None:
    drop_in(EMPTY)


def run(found: SweepPlan) -> dict[tuple[str, str, str], Any]:
    """The parts by mechanism, attack and ε."""
    cells = {one.cell.key: one.cell for one in found.to_run if one.cell is not None}
    parts = [part for unit in found.units() for part in run_unit(unit)]
    assert [part.error for part in parts] == [""] * len(parts)
    named = [(cells[part.key].mechanism.name, cells[part.key].attack.name, cells[part.key].settings.epsilon) for part in parts]
    return dict(zip(named, parts, strict=True))  # type: ignore[arg-type]


def test_cells_that_differ_by_the_attack_only_share_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of the axes: attack=…, then ε, would otherwise come back to each fit twice, in another unit."""
    fits = []
    made = unit_module._Runner.curator
    monkeypatch.setattr(unit_module._Runner, "curator", lambda self, *given: fits.append(given) or made(self, *given))
    monkeypatch.setattr(unit_module, "_kept", {})
    grid = ("attack=none,model_inversion,membership", "mechanism=fm,dpba", "epsilon=0.5,1,2")
    found = run(plan(loaded([*grid, *GRID])))
    assert len(found) == 18
    assert len(fits) == 6
    for mechanism, attack, epsilon in found:
        np.testing.assert_array_equal(
            found[mechanism, attack, epsilon].runs["weights"], found[mechanism, "none", epsilon].runs["weights"]
        )
        assert any(name.startswith("attack/") for name in found[mechanism, attack, epsilon].runs) == (attack != "none")


def test_shadow_fits_are_the_mechanism_with_noise_of_its_own() -> None:
    """On the very splits of the runs: without noise the same weights, with noise none of them."""
    found = plan(loaded(["mechanism=fm,no_privacy", "attack=membership", "epsilon=1", *GRID]))
    (unit,) = found.units()
    runner = unit_module._Runner(unit)
    noisy, exact = (runner.fit(cell) for cell in unit.cells)
    np.testing.assert_array_equal(runner.refitted(exact, runner.block), exact.fit.weights)
    again = runner.refitted(noisy, runner.block)
    assert (again != noisy.fit.weights).all()
    assert len(np.unique(again[:, 0])) == 4, "each run has its own"
    np.testing.assert_array_equal(again, runner.refitted(noisy, runner.block))


@pytest.mark.usefixtures("empty")
def test_a_run_without_weights_is_not_attacked_but_its_controls_stand() -> None:
    (part,) = run(plan(loaded(["mechanism=empty", "attack=model_inversion", *GRID]))).values()
    assert np.isnan(part.runs["attack/accuracy_train"][0])
    assert np.isfinite(part.runs["attack/accuracy_train"][1:]).all()
    assert np.isfinite(part.runs["attack/control/imputation/accuracy_train"]).all()


def test_a_record_holds_the_attack_with_bounds_and_one_cap() -> None:
    found = plan(loaded(["mechanism=fm,no_privacy", "epsilon=0.8", "attack=none,model_inversion", *GRID]))
    cells = {one.cell.key: one.cell for one in found.to_run if one.cell is not None}
    for part in run(found).values():
        cell = cells[part.key]
        metrics = record_of(cell, [part], {}, Provenance(False, 0, "plugins 1", "2", "cpu"), "rmse").metrics
        if cell.attack.name == "none":
            assert not [name for name in metrics if name.startswith("attack/")]
            continue
        assert metrics["attack/cap"] == (1 if cell.mechanism.name == "no_privacy" else pytest.approx(np.tanh(0.4)))
        for name in ("accuracy_train", "accuracy_test", "balanced_accuracy", "auc", "advantage", "control/imputation/advantage"):
            assert metrics[f"attack/{name}_ci_low"] <= metrics[f"attack/{name}_mean"] <= metrics[f"attack/{name}_ci_high"]


class TestCap:
    @pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0])
    def test_randomised_response_reaches_it(self, epsilon: float) -> None:
        truth = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert advantage_cap(epsilon) == pytest.approx(truth - (1 - truth))

    @pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
    @pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1, 1.0])
    def test_so_does_randomised_response_that_fails_openly(self, epsilon: float, delta: float) -> None:
        """With probability δ it says everything: (ε, δ)-DP, and the difference is δ + (1 - δ) times that of ε."""
        e = np.exp(epsilon)
        assert advantage_cap(epsilon, delta) == pytest.approx(delta + (1 - delta) * (e - 1) / (e + 1))
        assert advantage_cap(epsilon, delta) == pytest.approx((e - 1 + 2 * delta) / (e + 1))

    def test_nothing_private_allows_everything(self) -> None:
        assert advantage_cap(float("inf")) == 1
        assert advantage_cap(1000.0) == 1
        assert advantage_cap(0.0) == 0
