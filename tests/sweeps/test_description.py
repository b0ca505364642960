"""What is recorded about a sweep besides its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dpbench.records.preset import Preset
from dpbench.sweeps.description import describe_sweep, sweep_key, sweep_title
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

PASSWORD = "tracking.uri=postgresql://me:hush@localhost/runs"


@pytest.fixture
def described() -> Callable[..., Any]:
    def make(*overrides: str) -> Any:
        points = grid_points(["dataset=wine", *overrides])
        return describe_sweep(plan(points), points[0].config, ["-m", "dataset=wine", *overrides], ["dataset=wine", *overrides])

    return make


def test_the_command_can_be_typed_again_and_holds_no_password(described: Callable[..., Any]) -> None:
    record = described("mechanism=fm,dpba", PASSWORD)
    assert record.command.startswith("python -m dpbench -m dataset=wine mechanism=fm,dpba 'tracking.uri=postgresql")
    assert "hush" not in record.command + " ".join(record.overrides)


def test_swept_options_and_metrics_are_explained(described: Callable[..., Any]) -> None:
    record = described("mechanism.ridge=2,4")
    assert set(record.option_help) == {"mechanism.ridge"}
    assert record.metric_info["utility/rmse"].better == "lower"
    assert not [name for name in record.metric_info if name.startswith("attack/")]
    assert [name for name in described("attack=membership").metric_info if name.startswith("attack/")]


def test_options_of_a_table_that_is_recorded_under_its_own_name_are_explained() -> None:
    points = grid_points(["dataset=open", "dataset.table=airfoil,concrete", "dataset.scaling=box,ball"])
    assert set(describe_sweep(plan(points), points[0].config, [], []).option_help) == {"dataset.scaling"}


def test_a_title_names_up_to_four_components() -> None:
    few = plan(grid_points(["dataset=wine", "mechanism=fm,dpba", "epsilon=1,2"]))
    assert sweep_title(few, None) == "dpba+fm x linear x wine, 4 cells"
    many = plan(grid_points(["dataset=wine", "mechanism=fm,dpba,dpc,privr,no_privacy"]))
    assert sweep_title(many, None) == "5 of them x linear x wine, 5 cells"


def test_a_preset_has_a_key_of_its_own() -> None:
    cells = plan(grid_points(["dataset=wine"]))
    preset = Preset("zhang2012/fig9", title="Figure 9")
    assert sweep_key(cells, None) == cells.key != sweep_key(cells, preset)
    assert sweep_title(cells, preset) == "zhang2012/fig9, 1 cell"
