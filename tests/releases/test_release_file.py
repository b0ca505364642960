"""The file of a released model, and predictions from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from release_factory import make_release

from dpbench.base.errors import Refused
from dpbench.data.table import Column
from dpbench.data.transforms import Transform
from dpbench.releases.release_file import FORMAT, Release, load_release
from dpbench.releases.released_intervals import BEFORE_INTERVALS, ReleasedIntervals


@pytest.fixture
def released() -> Release:
    """Return a linear model: the target goes from 0 to 10 while a goes from 0 to 4."""
    return make_release()


@pytest.fixture
def sure(released: Release) -> Release:
    """Return the same model with intervals."""
    rows = {
        "intercept": {"estimate": 0.0, "standard_error": 0.1, "low": -0.2, "high": 0.2},
        "a": {"estimate": 1.0, "standard_error": 0.2, "low": 0.6, "high": 1.4},
    }
    section = ReleasedIntervals(
        *("delta", "population", 0.95, rows, True, 10**8),
        covariance=((0.01, 0.0), (0.0, 0.04)),
        residual_variance=0.02,
        residual_variance_error=0.0,
        floored=False,
        remarks=(),
        sentence="A sentence.",
    )
    return replace(released, inference=section)


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


def test_a_path_may_be_a_text(released: Release, tmp_path: Path) -> None:
    released.save(str(tmp_path / "model.json"))
    assert load_release(str(tmp_path / "model.json")) == released


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


def test_coefficients_are_mapped_to_the_units_of_the_columns(sure: Release) -> None:
    """A unit of a is half a scaled unit, and a scaled unit of the target is worth 5."""
    table = sure.intervals()
    assert table.scaled["a"] == {"estimate": 1.0, "standard_error": 0.2, "low": 0.6, "high": 1.4}
    assert table.own_units["a"] == pytest.approx({"estimate": 2.5, "standard_error": 0.5, "low": 1.5, "high": 3.5})
    assert table.own_units["intercept"] == pytest.approx({"estimate": 5.0, "standard_error": 0.5, "low": 4.0, "high": 6.0})
    assert table.sentence == "A sentence."


@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_a_weight_in_own_units_is_what_a_unit_of_its_column_adds(sure: Release, scaling: Any) -> None:
    model, (middle, more) = replace(sure, scaling=scaling), np.array([[2.0], [3.0]])
    own = model.intervals().own_units
    first, second = model.predict({"a": np.concatenate([middle, more])}, clip=False)
    assert own["intercept"]["estimate"] == pytest.approx(first, abs=1e-3)
    assert own["a"]["estimate"] == pytest.approx(second - first, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"columns": (Column("a", 1, 16, transform=Transform("log")),)}, {"intercept"}),
        ({"target": Column("y", 1, 16, transform=Transform("log"))}, set()),
        ({"scaling": "ball", "radius": 2.0}, set()),
        ({"kind": "binary", "model": {"name": "logistic"}, "threshold": 5.0}, {"intercept", "a"}),
    ],
)
def test_a_coefficient_has_own_units_where_they_are_a_multiplication_away(sure: Release, change: dict, names: set) -> None:
    table = replace(sure, **change).intervals()
    assert set(table.own_units) == names
    assert set(table.scaled) == {"intercept", "a"}
    if change.get("kind"):
        assert table.own_units["a"]["estimate"] == pytest.approx(0.5), "log odds per unit"


def test_a_prediction_has_an_interval_in_the_unit_of_the_target(sure: Release) -> None:
    predicted = sure.predict({"a": [2.0, 3.0]}, interval=0.95)
    assert predicted.shape == (2, 3)
    np.testing.assert_array_equal(predicted[:, 0], sure.predict({"a": [2.0, 3.0]}))
    reach = 5 * 1.96 * np.sqrt([0.01 + 0.02, 0.01 + 0.25 * 0.04 + 0.02])
    np.testing.assert_allclose(predicted[:, 2] - predicted[:, 0], reach, rtol=1e-3)
    np.testing.assert_allclose(predicted[:, 0] - predicted[:, 1], reach, rtol=1e-3)
    narrower = sure.predict({"a": [2.0, 3.0]}, interval=0.5)
    assert (narrower[:, 2] < predicted[:, 2]).all()


def test_the_ends_of_an_interval_are_clipped_like_the_prediction(sure: Release) -> None:
    free, clipped = (sure.predict({"a": [0.0, 4.0]}, interval=0.95, clip=clip) for clip in (False, True))
    assert free.min() < 0
    assert free.max() > 10
    np.testing.assert_array_equal(clipped, np.clip(free, 0, 10))


def test_an_interval_holds_the_prediction_also_if_its_centre_is_another(sure: Release) -> None:
    far = replace(sure, weights={"intercept": 0.0, "a": -1.0})
    predicted = far.predict({"a": [0.0, 1.0, 4.0]}, interval=0.5, clip=False)
    assert (predicted[:, 1] <= predicted[:, 0]).all()
    assert (predicted[:, 0] <= predicted[:, 2]).all()
    assert np.isclose(predicted[:, 0], predicted[:, 2]).any() or np.isclose(predicted[:, 0], predicted[:, 1]).any()


def test_the_ends_of_a_transformed_target_are_mapped_back(sure: Release) -> None:
    skewed = replace(sure, target=Column("y", 1, 1e4, transform=Transform("log")))
    predicted = np.log(skewed.predict({"a": [2.0]}, interval=0.95))
    reach = np.log(1e4) / 2 * 1.96 * np.sqrt(0.03)
    np.testing.assert_allclose(predicted[0] - predicted[0, 0], [0, -reach, reach], rtol=1e-3)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -1])
def test_a_level_that_is_no_probability_is_refused(sure: Release, level: float) -> None:
    with pytest.raises(Refused, match="must be between 0 and 1"):
        sure.predict({"a": [1]}, interval=level)


def test_a_binary_target_has_no_interval(sure: Release) -> None:
    binary = replace(sure, kind="binary", model={"name": "logistic"}, threshold=5.0)
    with pytest.raises(Refused, match="A binary target is 0 or 1"):
        binary.predict({"a": [1]}, interval=0.95)


def test_a_release_without_intervals_says_why(released: Release) -> None:
    for ask in (released.intervals, lambda: released.predict({"a": [1]}, interval=0.95)):
        with pytest.raises(Refused, match=BEFORE_INTERVALS):
            ask()


def test_a_file_that_is_older_than_intervals_is_read(sure: Release, released: Release, tmp_path: Path) -> None:
    sure.save(tmp_path / "new.json")
    assert load_release(tmp_path / "new.json") == sure
    content = json.loads((tmp_path / "new.json").read_text())
    del content["inference"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    assert load_release(tmp_path / "old.json") == released


@pytest.mark.parametrize("damage", [[], 5, {"method": "delta"}, {"reason": "x", "method": "delta"}])
def test_a_damaged_section_is_refused(sure: Release, tmp_path: Path, damage: Any) -> None:
    sure.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "bad.json").write_text(json.dumps(content | {"inference": damage}))
    with pytest.raises(Refused, match="incomplete"):
        load_release(tmp_path / "bad.json")
    with pytest.raises(Refused, match="one for each of intercept, a"):
        replace(sure, inference=replace(sure.inference, coefficients={}, covariance=None))
