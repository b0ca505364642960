"""A process that has other code or data than a cell's key names says so, and says nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.audit.subject import example_geometry
from dpbench.cells.audit_unit import AuditUnit
from dpbench.cells.cell import Cell, ComponentChoice, Settings
from dpbench.cells.code_versions import audit_difference, cell_difference, fit_code, versions_of
from dpbench.cells.loading import last_rows, rows_of
from dpbench.data.splits import Splits
from dpbench.files.digest_key import VARIABLE, key_id


@pytest.fixture
def cell(make: Any) -> Callable[..., Cell]:
    def built(mechanism: str = "fm", dataset: str = "wine", **options: Any) -> Cell:
        names = {"mechanism": mechanism, "model": "linear", "dataset": dataset, "attack": "none"}
        components = {kind: make(kind, name, **(options if kind == "dataset" else {})) for kind, name in names.items()}
        choices = [ComponentChoice(component.name, component.options()) for component in components.values()]
        return Cell(*choices, Splits("kfold", 2, 2), Settings(), versions_of(components, Settings()))

    return built


@pytest.fixture
def private(cell: Callable[..., Cell], tmp_path: Path) -> Cell:
    """A cell on a private table."""
    last_rows.clear()
    (tmp_path / "people.csv").write_text("a,y\n1,2\n3,4\n5,6\n7,8\n")
    bounds = {"a": [0, 9], "y": [0, 9]}
    return cell(dataset="table", path=str(tmp_path / "people.csv"), target="y", bounds=bounds)


def test_nothing_differs_in_the_process_that_planned_the_cell(cell: Any) -> None:
    assert cell_difference(cell(), key_id()) == ""
    assert cell_difference(cell("drop_sensitive", "adult"), key_id()) == ""


@pytest.mark.parametrize(
    ("part", "name"),
    [("mechanism", "the mechanism fm"), ("dataset", "the dataset wine"), ("metrics", "metrics"), ("dpbench", "dpbench")],
)
def test_the_code_that_differs_is_named(cell: Any, part: str, name: str) -> None:
    planned = cell()
    other = replace(planned, versions={**planned.versions, part: "dpbench 0 edited"})
    assert cell_difference(other, key_id()) == f"This worker has other code of {name} than the sweep: start both again."


def test_other_data_is_noticed_unless_the_rows_are_loaded_already(private: Cell) -> None:
    file = Path(str(private.dataset.options["path"]))
    rows_of(private)
    file.write_text("a,y\n1,2\n3,4\n5,6\n7,9\n")
    assert cell_difference(private, key_id()) == "", "the rows in memory are those that were planned with"
    last_rows.clear()
    sentence = "This worker has other data of the dataset table than the sweep: start both again."
    assert cell_difference(private, key_id()) == sentence


def test_private_data_is_compared_only_with_the_key_of_the_sweep(
    private: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = key_id()
    (tmp_path / "another").write_text("ab" * 32)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "another"))
    assert cell_difference(private, key) == "", "digests under two keys never agree"


def test_what_cannot_be_built_or_read_is_left_to_the_run(private: Cell) -> None:
    Path(str(private.dataset.options["path"])).unlink()
    assert cell_difference(private, key_id()) == ""
    assert cell_difference(replace(private, mechanism=ComponentChoice("gone", {})), key_id()) == ""


def test_an_audit_of_other_code_is_not_done(cell: Any, make: Any) -> None:
    unit = AuditUnit(cell(), example_geometry(make("model", "linear"), 2), 100, "wine []", fit_code(cell()))
    assert audit_difference(unit) == ""
    sentence = audit_difference(replace(unit, code="edited"))
    assert sentence.startswith(
        "This worker has other code of the mechanism fm, the model linear or dpbench's fits than the sweep"
    )
    gone = replace(unit.cell, mechanism=ComponentChoice("gone", {}))
    assert audit_difference(replace(unit, cell=gone)) == ""
