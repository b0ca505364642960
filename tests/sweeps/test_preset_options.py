"""Which options of a preset stay where the command line replaces its components."""

from __future__ import annotations

from typing import Any

import pytest
from hydra.core.config_store import ConfigStore

from dpbench.base.errors import Refused
from dpbench.sweeps.grid import GridPoint
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

PARAMS = {
    "mechanism": "fm,dpba",
    "mechanism.alpha": "paper,opt",
    "dataset": "census,brazil",
    "dataset.attributes": 14,
    "dataset.scaling": "ball",
    "splits": "holdout",
    "splits.test_fraction": 0.3,
}


def preset(**params: Any) -> str:
    node = {"hydra": {"sweeper": {"params": {**PARAMS, **params}}}}
    ConfigStore.instance().store(group="experiment/made", name="figure", package="_global_", node=node)
    return "experiment=made/figure"


def values(points: list[GridPoint], group: str, option: str) -> list[Any]:
    return [point.config[group].get(option) for point in points]


def test_a_preset_unchanged_has_no_notes() -> None:
    points = grid_points([preset()])
    assert len(points) == 6
    assert values(points, "dataset", "attributes") == [14] * 6
    assert {point.notes for point in points} == {()}


def test_a_value_that_the_new_dataset_does_not_accept_is_left_out_and_all_others_stay() -> None:
    points = grid_points([preset(), "dataset=wine"])
    assert len(points) == 3
    assert values(points, "dataset", "attributes") == [None] * 3
    assert values(points, "dataset", "scaling") == ["ball"] * 3
    assert values(points, "mechanism", "alpha") == [None, "paper", "opt"]
    note = "dataset=wine does not take dataset.attributes=14 of the preset: it is left out."
    assert {point.notes for point in points} == {(note,)}
    assert plan(points[:1]).notes == (note,)


def test_a_value_stays_with_the_new_dataset_that_accepts_it() -> None:
    (point, *_) = grid_points([preset(**{"dataset.attributes": 11}), "dataset=brazil"])
    assert (point.config["dataset"]["attributes"], point.notes) == (11, ())


def test_each_of_several_new_datasets_keeps_what_it_accepts() -> None:
    points = grid_points([preset(**{"dataset.attributes": "8,11"}), "dataset=brazil,wine", "mechanism=fm"])
    assert [(point.config["dataset"]["name"], point.config["dataset"]["attributes"]) for point in points] == [
        ("brazil", 8),
        ("brazil", 11),
        ("wine", None),
    ]
    assert "dataset=wine does not take dataset.attributes=8,11 of the preset: it is left out." in points[0].notes


def test_a_typed_null_takes_a_preset_s_choice_back() -> None:
    points = grid_points([preset(), "dataset.attributes=null"])
    assert values(points, "dataset", "attributes") == [None] * 6
    assert points[0].notes == ()


def test_a_typed_value_that_is_wrong_is_refused_and_not_left_out() -> None:
    with pytest.raises(Refused, match="attributes of dataset=wine must be a list of names"):
        plan(grid_points([preset(), "dataset=wine", "dataset.attributes=14"]))


def test_an_option_that_no_typed_component_has_goes_with_the_old_one() -> None:
    points = grid_points([preset(), "mechanism=fm", "splits=kfold", "dataset=brazil"])
    assert len(points) == 1
    assert points[0].notes == (
        "mechanism=fm does not take mechanism.alpha=paper,opt of the preset: it is left out.",
        "splits=kfold does not take splits.test_fraction=0.3 of the preset: it is left out.",
    )


def test_a_preset_with_its_own_mixture_gives_each_dataset_what_it_accepts() -> None:
    points = grid_points([preset(dataset="census,wine"), "epsilon=1"])
    assert values(points, "dataset", "attributes") == [14, None] * 3
    assert points[0].notes == (), "it is as its author wrote it"


def test_a_mistake_in_a_preset_is_refused() -> None:
    with pytest.raises(Refused, match="'scaling' option of census"):
        plan(grid_points([preset(**{"dataset.scaling": "bal"})]))
    with pytest.raises(Refused, match="There is no option of fm or dpba named 'alhpa'"):
        grid_points([preset(**{"mechanism.alhpa": 0.5})])


def test_an_option_typed_with_the_new_component_counts_when_values_are_tried() -> None:
    """``variant=heads`` has the subsets 5 and 9, and not 14."""
    (point, *_) = grid_points([preset(), "dataset=census", "dataset.variant=heads"])
    assert point.config["dataset"]["attributes"] is None
    (note,) = grid_points([preset(), "dataset.variant=heads"])[0].notes
    assert note.startswith("dataset=census does not take dataset.attributes=14"), "and brazil does"
    (point, *_) = grid_points([preset(**{"dataset.attributes": 9}), "dataset=census", "dataset.variant=heads"])
    assert point.config["dataset"]["attributes"] == 9


def test_fixed_settings_of_a_preset_go_with_their_component_too() -> None:
    node = {
        "defaults": [{"override /dataset": "gaussian"}],
        "dataset": {"n": 60, "scaling": "ball", "attributes": ["x1"]},
        "hydra": {"sweeper": {"params": {"mechanism": "fm"}}},
    }
    ConfigStore.instance().store(group="experiment/made", name="fixed", package="_global_", node=node)
    (point,) = grid_points(["experiment=made/fixed", "dataset=wine"])
    assert (point.config["dataset"]["scaling"], point.config["dataset"].get("n")) == ("ball", None)
    assert point.notes == ("dataset=wine does not take dataset.n=60 of the preset: it is left out.",)


@pytest.mark.parametrize(
    "overrides",
    [
        ["attack=model_inversion", "attack.sensitive=is_married"],
        ["attack=none,model_inversion", "attack.sensitive=is_married"],
        ["mechanism=dpc,fm", "mechanism.sensitive=[is_married]"],
        ["dataset.sensitive=[is_married,sex]"],
        ["dataset.attributes=[age,born_abroad],[age,is_married]"],
    ],
)
def test_an_attribute_that_only_one_coding_has_chooses_it_for_the_whole_sweep(overrides: list[str]) -> None:
    points = grid_points(["dataset=adult", "model=logistic", *overrides])
    assert set(values(points, "dataset", "coding")) == {"numeric"}
    assert "needs dataset.coding=numeric where dataset=adult: it is chosen." in points[0].notes[0]
    assert all(planned.state == "run" for planned in plan(points).cells)


@pytest.mark.parametrize(
    ("overrides", "coding"),
    [
        (["attack=model_inversion", "attack.sensitive=sex"], "one_hot"),
        (["attack=model_inversion", "attack.sensitive=marital_status,is_married"], "one_hot"),
        (["attack=model_inversion", "attack.sensitive=is_married", "dataset.coding=one_hot"], "one_hot"),
        (["dataset.coding=numeric"], "numeric"),
        ([], "one_hot"),
    ],
)
def test_the_coding_stays_where_no_attribute_asks_for_another_or_the_request_sets_it(overrides: list[str], coding: str) -> None:
    points = grid_points(["dataset=adult", *overrides])
    assert set(values(points, "dataset", "coding")) == {coding}
    assert points[0].notes == ()


def test_the_figure_of_an_attack_runs_on_real_data() -> None:
    planned = plan(grid_points(["experiment=fang2019/fig9", "dataset=adult"]))
    assert {cell.state for cell in planned.cells} == {"run"}
    assert {cell.cell.dataset.options["coding"] for cell in planned.cells} == {"numeric"}
