"""What is recorded about a sweep besides its cells."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from dpbench.files.data_frames import remove_frames
from dpbench.records.preset import Preset
from dpbench.sweeps.description import describe_sweep, sweep_key, sweep_title
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.hydra.overrides import parse
from dpbench.sweeps.override_text import override_text
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


def test_a_command_without_its_password_says_so(described: Callable[..., Any]) -> None:
    assert described("mechanism=fm,dpba", PASSWORD).notes == ("The recorded command has *** in place of the store's password.",)
    assert described("mechanism=fm,dpba").notes == ()


def test_what_the_environment_decides_is_part_of_the_command(
    described: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPBENCH_AUDIT_LEVEL", "component")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:hush@localhost/runs")
    (tmp_path / "own ones").mkdir()
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path / "own ones"))
    record = described()
    words = shlex.split(record.command)
    assert words[3:6] == ["--plugins-dir", "own ones", "-m"]
    assert words[-2:] == ["audit.level=component", "tracking.uri=postgresql://me:***@localhost/runs"]
    assert record.notes == ("The recorded command has *** in place of the store's password.",)
    assert record.overrides == ("dataset=wine",), "a preset is not changed by these"


def test_what_is_typed_goes_before_the_environment(described: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_AUDIT_LEVEL", "component")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///other.db")
    command = described("audit.level=none", "tracking.uri=sqlite:///own.db").command
    assert shlex.split(command)[3:] == ["-m", "dataset=wine", "audit.level=none", "tracking.uri=sqlite:///own.db"]


def test_an_address_with_a_comma_stays_one(described: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///a, b.db")
    (axis,) = parse(shlex.split(described().command)[-1:])
    assert axis.values == ("sqlite:///a, b.db",)


def test_a_table_from_python_is_said_to_be_missing_from_the_command(described: Callable[..., Any]) -> None:
    frame = pandas.DataFrame({"x": np.linspace(0, 1, 40), "y": np.linspace(1, 0, 40)})
    path = f"dataset.path={override_text(frame)}"
    try:
        overrides = ["dataset=table", path, "dataset.target=y", "dataset.bounds=data"]
        points = grid_points(overrides)
        (note,) = describe_sweep(plan(points), points[0].config, ["-m", *overrides], overrides).notes
    finally:
        remove_frames()
    assert note.startswith("The recorded command cannot repeat this sweep: its table was passed from Python.")
