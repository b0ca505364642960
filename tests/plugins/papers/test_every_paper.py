"""What holds for every paper that ships: its presets can be planned and say what they are, and its claims can be judged."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from dpbench.experiments.claims import claims_of, paper_fault
from dpbench.experiments.presets import Experiment, experiments, papers, values_of
from dpbench.records.budget_free import BUDGET_KEYS
from dpbench.records.preset import Preset
from dpbench.registry.lookup import build
from dpbench.sweeps.grid import GridPoint
from dpbench.sweeps.hydra.composition import grid_points

PAPERS = {paper.name: paper for paper in papers() if paper.folder.parent.name == "papers"}
PRESETS = {name: experiment for name, experiment in experiments().items() if name.partition("/")[0] in PAPERS}


@cache
def points(name: str) -> list[GridPoint]:
    return grid_points([f"experiment={name}"])


def cell_of(point: GridPoint) -> str:
    """The configuration of a point, without its budget if the mechanism uses none: points that agree in it are one cell."""
    budgeted = build("mechanism", point.config["mechanism"]).uses_budget()
    return repr({key: value for key, value in point.config.items() if budgeted or key not in BUDGET_KEYS})


def preset_of(experiment: Experiment) -> Preset:
    assert experiment.preset is not None
    return experiment.preset


def test_the_four_papers_ship() -> None:
    assert set(PAPERS) == {"zhang2012", "dandekar2018", "fang2019", "park2016"}


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_can_be_read_and_says_what_was_chosen(name: str) -> None:
    paper = PAPERS[name]
    assert paper_fault(paper) == ""
    assert paper.title.partition(":")[0] in (paper.folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAPERS)
def test_every_choice_is_made_by_some_preset(name: str) -> None:
    keys = set(yaml.safe_load(PAPERS[name].choices_file.read_text(encoding="utf-8")))
    presets = [yaml.safe_load(path.read_text(encoding="utf-8"))["preset"] for path in PAPERS[name].preset_files.values()]
    assert keys == {key for preset in presets for key in preset["choices"]}
    assert not any("chosen" in preset for preset in presets), "prose is said once, in choices.yaml"


@pytest.mark.parametrize("name", PAPERS)
def test_a_papers_claims_can_be_judged(name: str) -> None:
    claims = claims_of(PAPERS[name])
    assert len(claims) >= 4
    for claim in claims:
        assert claim.where
        assert set(claim.presets) <= set(PRESETS)
        assert claim.parsed_check.cells or claim.parsed_check.metric


def test_no_paper_is_named_in_the_core() -> None:
    root = Path(__file__).parents[3]
    files = [path for path in (root / "dpbench").rglob("*") if path.suffix in (".py", ".yaml", ".j2")]
    files += [*(root / "conf").rglob("*.yaml")]
    assert not [path.name for path in files for name in PAPERS if name in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_expands_into_the_cells_that_are_counted(name: str) -> None:
    assert len(set(map(cell_of, points(name)))) == PRESETS[name].cells
    assert all(point.config["preset"]["name"] == name for point in points(name))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_says_what_it_is_what_was_chosen_and_what_it_takes(name: str) -> None:
    preset = preset_of(PRESETS[name])
    paper, figure = name.split("/")
    assert paper[-4:] in preset.title
    if match := re.fullmatch(r"fig(\d+)(_\w+)?", figure):  # a variant of a figure says in brackets what differs
        variant = r" \(.+\)" if match[2] else ""
        assert re.search(f"Figure {match[1]}{variant}$", preset.title)
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
