"""The presets of Zhang et al. 2012 have the grids that the paper prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.experiments.presets import experiments
from dpbench.sweeps.hydra.composition import grid_points

RATES = "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0"
COMMON = {
    "dataset": "census brazil",
    "model.intercept": "false",
    "splits": "kfold",
    "splits.repeats": "50",
    "splits.folds": "5",
    "mechanism": "no_privacy truncated fm dpme fp",
}
DIMENSION = {**COMMON, "dataset.attributes": "5 8 11 14", "epsilon": "0.8"}
CARDINALITY = {**COMMON, "dataset.sample_rate": RATES, "dataset.attributes": "11", "epsilon": "0.8"}
BUDGET = {**COMMON, "epsilon": "0.1 0.2 0.4 0.8 1.6 3.2", "dataset.attributes": "11"}
GRIDS = {
    "zhang2012/fig4": {**DIMENSION, "model": "linear logistic"},
    "zhang2012/fig5": {**CARDINALITY, "model": "linear logistic"},
    "zhang2012/fig6": {**BUDGET, "model": "linear logistic"},
    "zhang2012/fig7": {**DIMENSION, "model": "logistic"},
    "zhang2012/fig8": {**CARDINALITY, "model": "logistic"},
    "zhang2012/fig9": {**BUDGET, "model": "logistic"},
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_the_one_of_the_paper(name: str, grid: Callable[[str, dict[str, str]], dict[str, str]]) -> None:
    assert grid(name, GRIDS[name]) == GRIDS[name]


def test_every_figure_of_its_evaluation_is_there() -> None:
    assert {name for name in experiments() if name.startswith("zhang2012/")} == set(GRIDS)


@pytest.mark.parametrize(("times", "errors"), [("fig7", "fig4"), ("fig8", "fig5"), ("fig9", "fig6")])
def test_computation_times_are_those_of_cells_that_other_figures_need_anyway(
    times: str, errors: str, cells: Callable[..., list[str]]
) -> None:
    assert cells(f"zhang2012/{times}") == cells(f"zhang2012/{errors}", model="logistic")


def test_what_is_typed_replaces_what_a_preset_says() -> None:
    points = grid_points(["experiment=zhang2012/fig6", "dataset.attributes=14", "epsilon=1", "mechanism=fm"])
    assert len(points) == 4
    assert {point.config["dataset"]["attributes"] for point in points} == {14}
