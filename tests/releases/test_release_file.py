"""The file of a released model, and predictions from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.table import Column
from dpbench.data.transforms import Transform
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


@pytest.mark.parametrize("slope", [-3.0, 0.5, 1e6])
def test_clipping_is_idempotent_and_never_increases_an_error(released: Release, slope: float) -> None:
    generator = np.random.default_rng(0)
    data, target = {"a": generator.uniform(-1, 5, 500)}, generator.uniform(0, 10, 500)
    steep = replace(released, weights={"intercept": 0.3, "a": slope})
    free, clipped = steep.predict(data, clip=False), steep.predict(data)
    np.testing.assert_array_equal(clipped, np.clip(free, 0, 10))
    np.testing.assert_array_equal(clipped, np.clip(clipped, 0, 10))
    assert (np.abs(clipped - target) <= np.abs(free - target)).all()
    assert (free != clipped).any() == (abs(slope) > 1)


@pytest.mark.parametrize(
    ("transform", "low", "middle"),
    [(Transform("log"), 1.0, 100.0), (Transform("log1p"), 0.0, 99.0), (Transform("quantile", (1.0, 7.0, 1e4)), 1.0, 7.0)],
)
def test_a_transformed_target_is_predicted_in_its_unit_also_from_the_file(
    released: Release, tmp_path: Path, transform: Transform, low: float, middle: float
) -> None:
    target = Column("y", low, 1e4 if low else 9_999, transform=transform)
    replace(released, target=target, columns=(Column("a", 1, 16, transform=Transform("log")),)).save(tmp_path / "model.json")
    skewed = load_release(tmp_path / "model.json")
    assert skewed.target == target
    np.testing.assert_allclose(skewed.predict({"a": [1, 4, 16, 99]}), [low, middle, target.high, target.high], rtol=1e-3)
    steep = replace(skewed, weights={"intercept": 1e6, "a": 0.0})
    np.testing.assert_array_equal(steep.predict({"a": [2]}), [target.high])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"b": [1]}, "Missing: a"),
        ({"a": ["x"]}, "must hold numbers. Row 1 holds something else"),
        ({"a": [1, None]}, "must have no missing values. Got 1 of them"),
        ({"a": [[1, 2]]}, "must be a list of cells. Got an array of another shape"),
    ],
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": {}}, "one weight for each of intercept, a"),
        ({"weights": {"intercept": 0.0, "b": 1.0}}, "one weight for each of intercept, a"),
        ({"scaling": "foo"}, "scaling of a release must be one of box, ball, corner"),
        ({"kind": "other"}, "kind of a release must be one of"),
    ],
)
def test_a_damaged_release_is_refused_instead_of_predicting_something_else(released: Release, change: dict, words: str) -> None:
    with pytest.raises(Refused, match=words):
        replace(released, **change)
