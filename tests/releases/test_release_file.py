"""The file of a released model, and predictions from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.table import Column
from dpbench.releases.release_file import FORMAT, Release, load_release


@pytest.fixture
def released(make: Any) -> Release:
    """Return a linear model: the target goes from 0 to 10 while a goes from 0 to 4."""
    return Release(
        model={"name": "linear", **make("model", "linear").options()},
        mechanism={"name": "fm"},
        dataset={"name": "people", "synthetic": False},
        columns=(Column("a", 0, 4),),
        target=Column("y", 0, 10),
        kind="real",
        scaling="box",
        radius=None,
        threshold=None,
        intercept=True,
        weights={"intercept": 0.0, "a": 1.0},
        privacy={"epsilon": 1.0},
        statement="A statement.",
    )


def test_predictions_are_in_the_units_of_the_columns(released: Release) -> None:
    np.testing.assert_allclose(released.predict({"a": [0, 1, 2, 4], "unused": ["x"] * 4}), [0, 2.5, 5, 10], atol=1e-3)


def test_values_outside_the_bounds_are_clipped(released: Release) -> None:
    np.testing.assert_allclose(released.predict({"a": [-5, 99]}), [0, 10], atol=1e-3)


@pytest.mark.parametrize(
    ("data", "words"),
    [({"b": [1]}, "Missing: a"), ({"a": ["1"]}, "must be a list of numbers"), ({"a": [[1, 2]]}, "must be a list of numbers")],
)
def test_wrong_columns_are_refused(released: Release, data: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        released.predict(data)


def test_a_file_is_read_back_as_it_was_written(released: Release, tmp_path: Path) -> None:
    released.save(tmp_path / "model.json")
    assert load_release(tmp_path / "model.json") == released
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_an_existing_file_is_replaced_only_on_request(released: Release, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        released.save(path)
    assert path.read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    released.save(path, overwrite=True)
    assert load_release(path) == released


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "must be"),
        ('{"format": "other"}', "Got 'other'"),
        (f'{{"format": "{FORMAT}"}}', "incomplete"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(Refused, match=words):
        load_release(tmp_path / "model.json")
