"""The preset of Park and Welling 2016 has the grid that the paper prints, and only the sound variant is charged as private."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.experiments.presets import experiments
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

GRIDS = {
    "park2016/fig1": {
        "dataset": "gaussian",
        "dataset.d": "10",
        "dataset.noise": "0.01",
        "dataset.redraw": "true",
        "mechanism.variant": "published sound",
        "mechanism.composition": "cdp conventional advanced",
        "mechanism.distribution": "gaussian laplace",
        "epsilon": "0.9",
        "splits": "holdout",
        "splits.repeats": "20",
    }
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_the_one_of_the_paper(name: str, grid: Callable[[str, dict[str, str]], dict[str, str]]) -> None:
    assert grid(name, GRIDS[name]) == GRIDS[name]


def test_every_figure_of_its_evaluation_is_there() -> None:
    assert {name for name in experiments() if name.startswith("park2016/")} == set(GRIDS)


def test_privacy_is_charged_for_the_sound_variant_and_the_rest_is_pruned_with_a_reason() -> None:
    cells = plan(grid_points(["experiment=park2016/fig1", "dataset=gaussian", "dataset.n=330", "quick=true"])).cells
    states = [(cell.state, cell.params.get("mechanism.variant")) for cell in cells]
    assert states.count(("run", "sound")) == 2
    assert states.count(("run", "published")) == 5
    assert all(cell.reason for cell in cells if cell.state == "pruned")
