"""The presets of Dandekar et al. 2018 have the grids that the paper prints, and reach the record under their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient

from dpbench.__main__ import main
from dpbench.base.errors import Refused
from dpbench.experiments.presets import experiments
from dpbench.sweeps.hydra.composition import grid_points

COMMON = {
    "splits": "holdout",
    "splits.repeats": "50",
    "splits.test_fraction": "0.2",
    "model.intercept": "false",
    "model.penalty": "cv",
    "model.penalty_on": "sum",
    "mechanism.repair": "stationary",
    "mechanism.ridge": "0",
}
EIGHT = {**COMMON, "model": "linear ridge lasso elastic_net", "mechanism": "no_privacy fm"}
HEADS = {"dataset": "census", "dataset.variant": "heads"}
GRIDS = {
    "dandekar2018/fig1": {**COMMON, **HEADS, "mechanism": "fm", "model": "elastic_net"},
    "dandekar2018/fig2": {**EIGHT, "dataset": "wine"},
    "dandekar2018/fig3": {**EIGHT, **HEADS},
    "dandekar2018/fig4": {**EIGHT, "model.penalty": "cv 40"},
    "dandekar2018/fig5": {**EIGHT, **HEADS, "mechanism": "no_privacy fm dpme", "dataset.attributes": "5"},
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_the_one_of_the_paper(name: str, grid: Callable[[str, dict[str, str]], dict[str, str]]) -> None:
    assert grid(name, GRIDS[name]) == GRIDS[name]


def test_every_figure_of_its_evaluation_is_there() -> None:
    assert {name for name in experiments() if name.startswith("dandekar2018/")} == set(GRIDS)


@pytest.mark.parametrize(("part", "components"), [("fig1", {}), ("fig4", {"dataset": "census"})])
def test_a_figure_that_shows_cells_of_figure_3_finds_them(
    part: str, components: dict[str, str], cells: Callable[..., list[str]]
) -> None:
    shown = {cell for cell in cells(f"dandekar2018/{part}", **components) if "'penalty': 40" not in cell}
    assert shown
    assert shown <= set(cells("dandekar2018/fig3"))


def test_an_option_of_a_preset_goes_with_the_component_that_is_replaced() -> None:
    (point,) = grid_points(["experiment=dandekar2018/fig3", "model=linear", "dataset=wine", "mechanism=no_privacy", "epsilon=1"])
    assert "penalty" not in point.config["model"]
    (point,) = grid_points(["experiment=dandekar2018/fig2", "model=ridge", "mechanism=fm", "epsilon=1", "splits=kfold"])
    assert point.config["model"]["penalty"] == "cv"
    assert "test_fraction" not in point.config["splits"]
    with pytest.raises(Refused, match="penalty"):
        grid_points(["experiment=dandekar2018/fig2", "model=linear", "model.penalty=cv"])


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
def test_a_preset_reaches_the_parent_run_with_its_name_its_choices_and_its_figure(
    alone: None, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ("model=linear", "epsilon=10,1000", "dataset.sample_n=200", "quick=true")
    assert main(["-m", "experiment=dandekar2018/fig2", *few]) == 0
    client = MlflowClient("sqlite:///mlflow.db")
    experiment = client.get_experiment_by_name("dpbench")
    assert experiment is not None
    (parent,) = client.search_runs([experiment.experiment_id], "tags.`dpbench.kind` = 'sweep'")
    assert parent.data.tags["dpbench.preset"] == "dandekar2018/fig2"
    assert parent.data.tags["dpbench.quick"] == "true"
    assert parent.info.run_name.startswith("dandekar2018/fig2")
    folder = Path(client.download_artifacts(parent.info.run_id, ""))
    preset = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))["preset"]
    assert preset["title"] == "Dandekar et al. 2018, Figure 2"
    assert preset["chosen"].startswith("The values of ε")
    assert (folder / "report" / "figure.png").stat().st_size > 10_000
    capsys.readouterr()
    assert main(["-m", "experiment=dandekar2018/fig4", "dataset=wine", *few]) == 0
    assert "Cells: 0 run, 3 already recorded (rerun=true runs them again).\n" in capsys.readouterr().out
