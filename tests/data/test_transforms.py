"""Transforms: increasing maps between the bounds, which are undone exactly, and what they are not defined for."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.scaling import scale
from dpbench.data.table import Column, Table
from dpbench.data.transforms import Transform

TRANSFORMS = [
    (1.0, 20_000.0, Transform("log")),
    (0.0, 20_000.0, Transform("log1p")),
    (-0.5, 1e-3, Transform("log1p")),
    (0.0, 20_000.0, Transform("quantile", (0.0, 500.0, 900.0, 2_000.0, 20_000.0))),
    (-5.0, 5.0, Transform("quantile", (-5.0, 4.9, 5.0))),
    (-5.0, 5.0, None),
]


@pytest.mark.parametrize(("low", "high", "transform"), TRANSFORMS)
def test_a_transform_is_increasing_and_the_way_back_undoes_it(low, high, transform) -> None:
    column = Column("wage", low, high, transform=transform)
    values = np.linspace(low, high, 1_001)
    scaled = column.to_box(values)
    assert (np.diff(scaled) > 0).all()
    np.testing.assert_allclose(scaled[[0, -1]], [-1, 1], rtol=1e-12)
    np.testing.assert_allclose(column.from_box(scaled), values, rtol=1e-9, atol=1e-9 * (high - low))
    np.testing.assert_allclose(column.to_box(np.array([low - 3, high + 3])), [-1, 1], rtol=1e-12)


def test_knots_are_mapped_to_evenly_spaced_numbers() -> None:
    knots = (0.0, 500.0, 900.0, 2_000.0, 20_000.0)
    column = Column("wage", 0, 20_000, transform=Transform("quantile", knots))
    np.testing.assert_allclose(column.to_box(np.array(knots)), [-1, -0.5, 0, 0.5, 1])
    np.testing.assert_allclose(column.to_box(np.array([250.0])), [-0.75])


def test_predictions_far_outside_the_bounds_have_an_inverse_without_a_warning() -> None:
    for low, high, transform in TRANSFORMS:
        far = Column("wage", low, high, transform=transform).from_box(np.array([-1e6, 1e6]))
        assert far[0] <= low
        assert far[1] >= high


@pytest.mark.parametrize(
    ("low", "high", "transform", "words"),
    [
        (0, 9, Transform("log"), r"must be above 0, because its transform is log \(log1p allows 0\). Got 0"),
        (-2, 9, Transform("log"), "must be above 0, because its transform is log. Got -2"),
        (-1, 9, Transform("log1p"), "must be above -1, because its transform is log1p. Got -1"),
        (0, 9, Transform("quantile", (0, 9)), r"must be increasing numbers between its bounds 0 and 9. Got \[\]"),
        (0, 9, Transform("quantile", (0, 5, 4, 9)), r"Got \[5, 4\]"),
        (0, 9, Transform("quantile", (0, 5, float("nan"), 9)), "increasing"),
        (0, 9, Transform("quantile", (0, 10, 9)), "increasing"),
        (1, 9, Transform("quantile", (0, 5, 9)), "increasing"),
    ],
)
def test_what_a_transform_is_not_defined_for_is_refused(low, high, transform, words) -> None:
    with pytest.raises(Refused, match=words):
        Column("wage", low, high, transform=transform)


def test_transformed_columns_are_scaled_by_their_transform_and_have_no_evenly_spaced_levels() -> None:
    log = Transform("log")
    columns = (Column("size", 1, 100, kind="integer", transform=log), Column("age", 0, 100, kind="integer"))
    features = np.array([[1.0, 0.0], [10.0, 50.0], [1_000.0, 100.0]])
    table = Table(columns, Column("wage", 1, 10_000, transform=log), features, np.array([100.0, 1.0, 0.5]))
    scaled = scale(table, "box", True, "real")
    np.testing.assert_allclose(scaled.x[:, 1:], [[-1, -1], [0, 0], [1, 1]], atol=2**-16)
    np.testing.assert_allclose(scaled.y, [0, -1, -1], atol=2**-16)
    assert scaled.geometry.levels == (0, 101)
    assert (scaled.features_clipped, scaled.target_clipped) == ((1 / 3, 0.0), 1 / 3), "counted before the transform"


def test_rows_with_a_declared_norm_cannot_be_transformed() -> None:
    with pytest.raises(Refused, match="cannot have transformed columns"):
        Table((Column("a", 1, 9, transform=Transform("log")),), Column("y", 0, 1), np.ones((2, 1)), np.ones(2), 3.0)
