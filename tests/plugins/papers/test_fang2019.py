"""The presets of Fang et al. 2019 have the grids that the paper prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.experiments.presets import experiments

SIX = "0.1 0.2 0.4 0.8 1.6 3.2"
COMMON = {
    "dataset": "census brazil",
    "model.intercept": "false",
    "splits": "holdout",
    "splits.repeats": "50",
    "splits.test_fraction": "0.2",
    "dataset.attributes": "14",
}
SPLIT = {**COMMON, "mechanism": "dpba", "epsilon": "0.1 1 2 4"}
COMPARED = {**COMMON, "mechanism": "no_privacy fm dpc privr dpba", "epsilon": SIX}
ATTACKED = {**COMMON, "mechanism": "no_privacy dpc dpba", "epsilon": SIX, "attack": "model_inversion"}
GRIDS = {
    "fang2019/fig3": {**SPLIT, "model": "linear"},
    "fang2019/fig4": {**SPLIT, "model": "logistic"},
    "fang2019/fig5": {**COMPARED, "model": "linear"},
    "fang2019/fig6": {**COMPARED, "model": "logistic"},
    "fang2019/fig7": {**COMMON, "mechanism": "no_privacy fm dpba", "model": "logistic", "epsilon": "0.1"},
    "fang2019/fig8": {**ATTACKED, "model": "linear"},
    "fang2019/fig9": {**ATTACKED, "model": "logistic"},
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_the_one_of_the_paper(name: str, grid: Callable[[str, dict[str, str]], dict[str, str]]) -> None:
    assert grid(name, GRIDS[name]) == GRIDS[name]


def test_every_figure_of_its_evaluation_is_there() -> None:
    assert {name for name in experiments() if name.startswith("fang2019/")} == set(GRIDS)


def test_the_roc_curves_are_those_of_cells_of_figure_6(cells: Callable[..., list[str]]) -> None:
    assert cells("fang2019/fig7")
    assert set(cells("fang2019/fig7")) <= set(cells("fang2019/fig6"))
