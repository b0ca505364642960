"""The presets of Zhang et al. 2012 have the grids that the paper prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.experiments.presets import experiments
from dpbench.sweeps.hydra.composition import grid_points

RATES = "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0"
SIX = "0.1 0.2 0.4 0.8 1.6 3.2"
FOLDS = {"model.intercept": "false", "splits": "kfold", "splits.repeats": "50", "splits.folds": "5"}
OWN = {"mechanism": "no_privacy truncated fm dpme fp", "mechanism.sensitivity": "paper tight", "dataset.scaling": "corner"}
BOX = {"mechanism": "no_privacy truncated fm", "mechanism.sensitivity": "paper", "dataset.scaling": "box"}
TIMED = {**OWN, "mechanism.sensitivity": "paper", "model": "logistic", "dataset": "census brazil"}
BOTH = {"model": "linear logistic"}
REAL = {"dataset": "census brazil adult", "dataset.coding": "numeric"}
DIMENSION = {**FOLDS, "dataset.attributes": "5 8 11 14", "epsilon": "0.8"}
CARDINALITY = {**FOLDS, "dataset.sample_rate": RATES, "dataset.attributes": "11", "epsilon": "0.8"}
BUDGET = {**FOLDS, "epsilon": SIX, "dataset.attributes": "11"}
CORNER = {**FOLDS, "model": "linear", "dataset.scaling": "corner"}
GRIDS = {
    "zhang2012/fig4": {**DIMENSION, **OWN, **BOTH, "dataset": "census brazil"},
    "zhang2012/fig5": {**CARDINALITY, **OWN, **BOTH, **REAL},
    "zhang2012/fig6": {**BUDGET, **OWN, **BOTH, **REAL},
    "zhang2012/fig4_box": {**DIMENSION, **BOX, **BOTH, "dataset": "census brazil"},
    "zhang2012/fig5_box": {**CARDINALITY, **BOX, **BOTH, **REAL},
    "zhang2012/fig6_box": {**BUDGET, **BOX, **BOTH, **REAL},
    "zhang2012/fig7": {**DIMENSION, **TIMED},
    "zhang2012/fig8": {**CARDINALITY, **TIMED},
    "zhang2012/fig9": {**BUDGET, **TIMED},
    "zhang2012/ridge": {**CORNER, "mechanism.ridge": "0 1 2 4 8 16", "mechanism.sensitivity": "paper"},
    "zhang2012/repeat": {**CORNER, "mechanism.until_bounded": "false true", "mechanism.sensitivity": "paper"},
    "zhang2012/bins": {**CORNER, "mechanism": "dpme fp", "mechanism.bandwidth": "5", "dataset.sample_rate": RATES},
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
    assert cells(f"zhang2012/{times}")
    assert set(cells(f"zhang2012/{times}")) < set(cells(f"zhang2012/{errors}", model="logistic"))


def test_what_is_typed_replaces_what_a_preset_says() -> None:
    points = grid_points(["experiment=zhang2012/fig6", "dataset.attributes=14", "epsilon=1", "mechanism=fm"])
    assert len(points) == 2 * 2 * 3  # two bounds, two models, three tables
    attributes = {point.config["dataset"]["name"]: point.config["dataset"]["attributes"] for point in points}
    assert attributes == {"census": 14, "brazil": 14, "adult": 14}


def test_the_real_table_has_all_of_its_columns_where_it_lacks_the_papers_subsets() -> None:
    points = grid_points(["experiment=zhang2012/fig5", "mechanism=fm", "model=linear"])
    attributes = {point.config["dataset"]["name"]: point.config["dataset"]["attributes"] for point in points}
    assert attributes == {"census": 11, "brazil": 11, "adult": None}
