"""The Gaussian table: its moments, its bounds, and a table for each repeat."""

from __future__ import annotations

import numpy as np

from dpbench.base.random_streams import stream
from dpbench.cells.loading import DatasetRows
from dpbench.data.splits import Splits


def test_the_gaussian_table_has_its_declared_moments(make) -> None:
    """20,000 × 5 standard normals: mean of squares within 6 standard errors, and residual variance; false alarm 1e-8."""
    dataset = make("dataset", "gaussian", n=20_000, d=5, noise=0.25)
    table = dataset.select(stream(3))
    assert dataset.synthetic
    assert abs(np.mean(table.features**2) - 1) < 6 * np.sqrt(2 / table.features.size)
    weights = np.linalg.lstsq(table.features, table.response, rcond=None)[0]
    residual = np.mean((table.response - table.features @ weights) ** 2)
    assert abs(residual / 0.25 - 1) < 6 * np.sqrt(2 / 20_000)


def test_the_gaussian_table_depends_on_its_generator_alone(make) -> None:
    dataset = make("dataset", "gaussian", n=50, d=2)
    np.testing.assert_array_equal(dataset.select(stream(0)).features, dataset.select(stream(0)).features)
    assert (dataset.select(stream(0)).features != dataset.select(stream(1)).features).all()
    assert not dataset.redrawn()
    assert make("dataset", "gaussian", redraw=True).redrawn()


def test_public_bounds_do_not_depend_on_the_rows_and_the_sample_s_are_a_leak(make) -> None:
    public, private = make("dataset", "gaussian", n=50, d=2), make("dataset", "gaussian", n=50, d=2, bounds="data")
    first, second = public.select(stream(0)), public.select(stream(1))
    assert (first.columns, first.target, first.radius) == (second.columns, second.target, second.radius)
    assert not first.leaks
    first, second = private.select(stream(0)), private.select(stream(1))
    assert first.columns != second.columns
    assert [leak.what for leak in first.leaks] == ["bounds_from_data"]


def test_a_table_that_is_redrawn_has_its_own_unit_in_each_repeat(make) -> None:
    """With bounds from the data every repeat's target has another range, and rmse_raw is in that repeat's unit."""
    dataset = make("dataset", "gaussian", n=60, d=2, bounds="data", redraw=True)
    source = DatasetRows(dataset, make("model", "linear"), Splits(repeats=3, folds=2), 0)
    block = source.block(range(3))
    expected = [source.scaled(repeat).rows.geometry.half_range for repeat in range(3) for _ in range(2)]
    assert len(set(expected)) == 3
    np.testing.assert_array_equal(block.test.half_range, expected)
