"""Every preset can be planned, has the grid of its paper, and reaches the record under its name."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow import MlflowClient

from dpbench.base.errors import Refused
from dpbench.experiments.presets import Experiment, chosen, experiments, values_of
from dpbench.records.preset import Preset
from dpbench.sweeps.grid import GridPoint, loaded

PRESETS = experiments()

SIX = "0.1 0.2 0.4 0.8 1.6 3.2"
RATES = "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1.0"
BOTH = {"dataset": "census brazil", "model.intercept": "false"}
ZHANG = {**BOTH, "splits": "kfold", "splits.repeats": "50", "splits.folds": "5", "mechanism": "no_privacy truncated fm dpme fp"}
DIMENSION = {**ZHANG, "dataset.attributes": "5 8 11 14", "epsilon": "0.8"}
CARDINALITY = {**ZHANG, "dataset.sample_rate": RATES, "dataset.attributes": "11", "epsilon": "0.8"}
BUDGET = {**ZHANG, "epsilon": SIX, "dataset.attributes": "11"}
HOLDOUT = {"splits": "holdout", "splits.repeats": "50", "splits.test_fraction": "0.2", "model.intercept": "false"}
PLAIN = {**HOLDOUT, "model.penalty": "cv", "mechanism.repair": "none", "mechanism.ridge": "0"}
EIGHT = {**PLAIN, "model": "linear ridge lasso elastic_net", "mechanism": "no_privacy fm"}
HEADS = {"dataset": "census", "dataset.variant": "heads"}
FANG = {**BOTH, **HOLDOUT, "dataset.attributes": "14"}
SPLIT = {**FANG, "mechanism": "dpba", "epsilon": "0.1 1 2 4"}
COMPARED = {**FANG, "mechanism": "no_privacy fm dpc privr dpba", "epsilon": SIX}
ATTACKED = {**FANG, "mechanism": "no_privacy dpc dpba", "epsilon": SIX, "attack": "model_inversion"}
PARK = {
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
PAPERS = {
    "zhang2012/fig4": {**DIMENSION, "model": "linear logistic"},
    "zhang2012/fig5": {**CARDINALITY, "model": "linear logistic"},
    "zhang2012/fig6": {**BUDGET, "model": "linear logistic"},
    "zhang2012/fig7": {**DIMENSION, "model": "logistic"},
    "zhang2012/fig8": {**CARDINALITY, "model": "logistic"},
    "zhang2012/fig9": {**BUDGET, "model": "logistic"},
    "dandekar2018/fig1": {**PLAIN, **HEADS, "mechanism": "fm", "model": "elastic_net"},
    "dandekar2018/fig2": {**EIGHT, "dataset": "wine"},
    "dandekar2018/fig3": {**EIGHT, **HEADS},
    "dandekar2018/fig4": EIGHT,
    "dandekar2018/fig5": {**EIGHT, **HEADS, "mechanism": "no_privacy fm dpme", "dataset.attributes": "5"},
    "fang2019/fig3": {**SPLIT, "model": "linear"},
    "fang2019/fig4": {**SPLIT, "model": "logistic"},
    "fang2019/fig5": {**COMPARED, "model": "linear"},
    "fang2019/fig6": {**COMPARED, "model": "logistic"},
    "fang2019/fig7": {**FANG, "mechanism": "no_privacy fm dpba", "model": "logistic", "epsilon": "0.1"},
    "fang2019/fig8": {**ATTACKED, "model": "linear"},
    "fang2019/fig9": {**ATTACKED, "model": "logistic"},
    "park2016/fig1": PARK,
}
"""What each paper says of its own figure: part of the preset's grid."""


@cache
def points(name: str) -> list[GridPoint]:
    return loaded([f"experiment={name}"])


def cells(name: str, **only: Any) -> list[str]:
    """The configurations, without what a cell's key leaves out."""
    found = [{key: value for key, value in point.config.items() if key != "preset"} for point in points(name)]
    return [repr(config) for config in found if all(config[key]["name"] == value for key, value in only.items())]


def preset_of(experiment: Experiment) -> Preset:
    assert experiment.preset is not None
    return experiment.preset


# -- the files -------------------------------------------------------------------------------------------------------


def test_every_figure_of_the_papers_evaluations_is_there() -> None:
    assert set(PRESETS) == set(PAPERS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_expands_into_the_cells_that_are_counted(name: str) -> None:
    assert len(points(name)) == PRESETS[name].cells
    assert all(point.config["preset"]["name"] == name for point in points(name))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_what_it_is_what_was_chosen_and_what_it_takes(name: str) -> None:
    preset = preset_of(PRESETS[name])
    paper, figure = name.split("/")
    assert paper[-4:] in preset.title
    assert preset.title.endswith(f"Figure {figure.removeprefix('fig')}")
    assert preset.shows
    assert preset.chosen
    assert preset.minutes > 0


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_draws_along_something_that_it_varies(name: str) -> None:
    figure, grid = preset_of(PRESETS[name]).figure, PRESETS[name].grid
    assert figure.y
    assert figure.form == "roc" or len(values_of(grid[figure.x])) > 1
    own = [key for key in (*figure.curves, *figure.panels) if key not in ("dataset", "model")]
    assert all(key in grid for key in own)


@pytest.mark.parametrize("name", PRESETS)
def test_no_option_of_a_preset_is_one_that_nothing_in_it_has(name: str) -> None:
    for key in PRESETS[name].grid:
        group, dot, option = key.partition(".")
        if dot and group != "splits":
            assert any(option in point.config[group] for point in points(name)), key


@pytest.mark.parametrize("name", PAPERS)
def test_a_grid_is_the_one_of_the_paper(name: str) -> None:
    grid = PRESETS[name].grid
    assert {key: " ".join(values_of(grid[key])) for key in PAPERS[name]} == PAPERS[name]


@pytest.mark.parametrize(("times", "errors"), [("fig7", "fig4"), ("fig8", "fig5"), ("fig9", "fig6")])
def test_computation_times_are_those_of_cells_that_other_figures_need_anyway(times: str, errors: str) -> None:
    assert cells(f"zhang2012/{times}") == cells(f"zhang2012/{errors}", model="logistic")


@pytest.mark.parametrize(
    ("part", "only", "whole"),
    [
        ("fang2019/fig7", {}, "fang2019/fig6"),
        ("dandekar2018/fig1", {}, "dandekar2018/fig3"),
        ("dandekar2018/fig4", {"dataset": "census"}, "dandekar2018/fig3"),
    ],
)
def test_a_figure_that_looks_at_another_ones_cells_finds_them(part: str, only: dict[str, str], whole: str) -> None:
    assert cells(part, **only)
    assert set(cells(part, **only)) <= set(cells(whole))


def test_privacy_is_charged_for_the_sound_variant_and_the_rest_is_pruned_with_a_reason(planned: Callable[..., Any]) -> None:
    cells = planned("experiment=park2016/fig1", "dataset=gaussian", "dataset.n=330", "quick=true").cells
    states = [(cell.state, cell.params.get("mechanism.variant")) for cell in cells]
    assert states.count(("run", "sound")) == 2
    assert states.count(("run", "published")) == 5
    assert all(cell.reason for cell in cells if cell.state == "pruned")


# -- on the command line ---------------------------------------------------------------------------------------------


def test_what_is_typed_replaces_what_a_preset_says() -> None:
    found = loaded(["experiment=zhang2012/fig6", "dataset.attributes=14", "epsilon=1", "mechanism=fm"])
    assert len(found) == 4
    assert {point.config["dataset"]["attributes"] for point in found} == {14}


def test_an_option_of_a_preset_goes_with_the_component_that_is_replaced() -> None:
    (point,) = loaded(["experiment=dandekar2018/fig3", "model=linear", "dataset=wine", "mechanism=no_privacy", "epsilon=1"])
    assert "penalty" not in point.config["model"]
    (point,) = loaded(["experiment=dandekar2018/fig2", "model=ridge", "mechanism=fm", "epsilon=1", "splits=kfold"])
    assert point.config["model"]["penalty"] == "cv"
    assert "test_fraction" not in point.config["splits"]
    with pytest.raises(Refused, match="penalty"):
        loaded(["experiment=dandekar2018/fig2", "model=linear", "model.penalty=cv"])


def test_a_wrong_option_in_a_preset_is_refused(tmp_path: Path) -> None:
    own(tmp_path, {"mechanism": "fm,dpba", "mechanism.rigde": 4})
    with pytest.raises(Refused, match="ridge"):
        loaded(["experiment=mine"], str(tmp_path))
    own(tmp_path, {"mechanism": "fm", "splitz.folds": 4})
    with pytest.raises(Refused, match="splitz"):
        loaded(["experiment=mine"], str(tmp_path))


def test_a_preset_reaches_the_parent_run_with_its_name_and_its_figure(home: Any) -> None:
    few = ("model=linear", "epsilon=10,1000", "dataset.sample_n=200", "quick=true")
    answer = home.run("-m", "experiment=dandekar2018/fig2", *few)
    assert answer.code == 0, answer.out + answer.err
    (parent,) = home.runs("sweep")
    assert parent.data.tags["dpbench.preset"] == "dandekar2018/fig2"
    assert parent.data.tags["dpbench.quick"] == "true"
    assert parent.info.run_name.startswith("dandekar2018/fig2")
    folder = Path(MlflowClient(f"sqlite:///{home.folder / 'mlflow.db'}").download_artifacts(parent.info.run_id, ""))
    assert json.loads((folder / "sweep.json").read_text())["preset"]["title"] == "Dandekar et al. 2018, Figure 2"
    assert (folder / "report" / "figure.png").stat().st_size > 10_000
    assert (folder / "report" / "figure.pdf").is_file()
    again = home.run("-m", "experiment=dandekar2018/fig4", "dataset=wine", *few)
    assert again.counted == "Cells: 0 run, 4 already recorded (rerun=true runs them again)."


# -- the list --------------------------------------------------------------------------------------------------------


def test_the_list_names_every_preset_with_its_cells_and_runs(empty: Any) -> None:
    answer = empty.run("experiments")
    assert answer.code == 0
    rows = {row[0]: row for row in answer.table if row[0]}
    assert list(rows) == list(PRESETS)
    assert rows["zhang2012/fig6"][2:4] == ["120", "250"]
    assert rows["park2016/fig1"][2:4] == ["91", "20"]
    assert empty.files == []


def test_a_paper_names_its_figures(empty: Any) -> None:
    rows = [row[0] for row in empty.run("experiments", "fang2019").table if row[0]]
    assert rows == [f"fang2019/fig{number}" for number in range(3, 10)]


def test_one_preset_is_shown_with_its_choices_its_grid_and_its_command(empty: Any) -> None:
    out = empty.run("experiments", "zhang2012/fig5").out
    assert "Chosen: " in out
    assert "python -m dpbench -m experiment=zhang2012/fig5" in out.splitlines()[-1]
    grid = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith("  dataset"))
    assert grid["dataset.sample_rate"] == PAPERS["zhang2012/fig5"]["dataset.sample_rate"].replace(" ", ",")


def test_the_plain_list_has_all_of_it(empty: Any) -> None:
    found = json.loads(empty.run("experiments", "--json").out)
    assert [one["name"] for one in found] == list(PRESETS)
    assert {"title", "shows", "chosen", "minutes", "cells", "runs", "grid", "command"} < set(found[0])


def test_a_typo_names_what_is_near(empty: Any) -> None:
    assert empty.run("experiments", "zhang2012/fgi6").refused("zhang2012/fgi6", "Did you mean zhang2012/fig6")


def test_the_list_needs_neither_hydra_nor_a_store() -> None:
    code = "import sys; from dpbench.__main__ import main; main(['experiments']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    modules = eval(done.stderr)
    assert not {"hydra", "omegaconf", "mlflow", "pandas", "matplotlib"} & set(modules)


def own(folder: Path, params: dict[str, Any], **preset: Any) -> Path:
    """A preset of one's own, as the documentation says."""
    path = folder / "experiment" / "mine.yaml"
    path.parent.mkdir(exist_ok=True)
    config = {**({"preset": preset} if preset else {}), "hydra": {"sweeper": {"params": params}}}
    path.write_text("# @package _global_\n" + yaml.safe_dump(config))
    return folder


def test_a_preset_of_ones_own_is_listed_and_expands(tmp_path: Path) -> None:
    params = {"mechanism": "fm,dpba", "mechanism.alpha": "opt,paper", "dataset": "wine", "epsilon": "1,2", "splits.repeats": 4}
    own(tmp_path, params, title="Mine", shows="something")
    (found,) = chosen("mine", experiments(str(tmp_path)))
    assert (found.cells, found.runs, found.shows) == (6, 20, "something")
    assert len(loaded(["experiment=mine"], str(tmp_path))) == 6


def test_a_preset_that_says_nothing_is_a_grid_all_the_same(tmp_path: Path) -> None:
    (found,) = chosen("mine", experiments(str(own(tmp_path, {"dataset.attributes": "[age,gender],[age]"}))))
    assert (found.preset, found.cells, found.runs) == (None, 2, 250)


def test_a_preset_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "torn.yaml").write_text("preset: [")
    with pytest.raises(Refused, match=r"torn\.yaml is not YAML"):
        experiments(str(tmp_path))
    with pytest.raises(Refused, match="must be a folder"):
        experiments(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", ["1"]),
        ("0.1, 0.2", ["0.1", "0.2"]),
        ("[a,b],[c]", ["[a,b]", "[c]"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ("{a: [1,2], b: 3}", ["{a: [1,2], b: 3}"]),
    ],
)
def test_commas_part_values_but_not_within_brackets_and_quotes(text: str, values: list[str]) -> None:
    assert values_of(text) == values
