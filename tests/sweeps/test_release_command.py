"""The printed release command names what the cell fitted, and nothing that is a default."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.cells.cell import Settings
from dpbench.records.cell_record import CellRecord
from dpbench.sweeps.execution import run_unrecorded
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan
from dpbench.sweeps.release_command import SETTINGS, release_command

SMALL = ("dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=1", "audit.level=none")


@pytest.fixture
def cell_of(alone: None) -> Any:
    def made(*overrides: str) -> CellRecord:
        points = grid_points([*SMALL, *overrides])
        (cell,) = run_unrecorded(plan(points), points[0].config)
        return cell

    return made


def words(cell: CellRecord) -> list[str]:
    return shlex.split(release_command(cell))


def test_a_command_that_names_no_settings_has_those_of_the_settings_class() -> None:
    config, settings = grid_points([])[0].config, Settings()
    assert {key: config[key] for key in SETTINGS} == {key: getattr(settings, key) for key in SETTINGS}


def test_only_what_differs_from_the_defaults_is_named(cell_of: Any) -> None:
    cell = cell_of("mechanism=fm", "mechanism.ridge=4", "epsilon=0.5", "model.intercept=false")
    first, *rest = words(cell)[4:]
    assert words(cell)[:4] == ["python", "-m", "dpbench", "release"]
    assert [first, *rest] == [
        *("mechanism=fm", "mechanism.ridge=4.0", "model=linear", "model.intercept=false"),
        *("dataset=gaussian", "dataset.n=60", "dataset.d=2", "epsilon=0.5", "out=model.json"),
    ]


def test_a_rule_for_bounds_is_named_once(cell_of: Any) -> None:
    assert "sensitivity=published" in words(cell_of("mechanism=fm", "sensitivity=published", "epsilon=1"))
    assert not any("sensitivity" in word for word in words(cell_of("mechanism=fm", "epsilon=1")))


def test_a_release_is_fitted_on_all_rows(cell_of: Any) -> None:
    assert not any("sample_rate" in word for word in words(cell_of("mechanism=fm", "dataset.sample_rate=0.5", "epsilon=1")))


def test_a_mechanism_that_counts_in_its_own_unit_gets_the_number_it_was_given(cell_of: Any) -> None:
    cell = cell_of("mechanism=fm", "epsilon=0.5")
    dear = replace(cell, metrics={**cell.metrics, "privacy/epsilon_accounted": 3.1})
    assert {"epsilon=0.5", "budget=claimed"} <= set(words(dear))


def test_what_is_not_private_cannot_be_released(cell_of: Any) -> None:
    assert release_command(cell_of("mechanism=no_privacy")) == ""


def test_a_file_s_name_is_typed_without_quotes(cell_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,pay\n" + "".join(f"{20 + i % 50},{i % 10}\n" for i in range(100)))
    Path("it is.yaml").write_text("target: pay\ncolumns: {age: [18, 80], pay: [0, 10]}\n")
    points = grid_points(
        ["dataset=table", "dataset.path=people.csv", "dataset.bounds='it is.yaml'", "mechanism=fm", "epsilon=1", *SMALL[3:]]
    )
    (cell,) = run_unrecorded(plan(points), points[0].config)
    command = release_command(cell)
    assert " dataset.path=people.csv " in command
    assert "dataset.bounds='it is.yaml'" in shlex.split(command)
