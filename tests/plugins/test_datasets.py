"""The datasets: shapes, bounds, what is recorded as a leak."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream


@pytest.mark.parametrize(("color", "n"), [("white", 4_898), ("red", 1_599)])
def test_wine_is_whole_and_within_its_printed_ranges(color, n, make) -> None:
    wine = make("dataset", "wine", color=color)
    table = wine.table(stream(0))
    assert table.features.shape == (n, 11)
    low, high = np.array([(column.low, column.high) for column in table.columns]).T
    assert (table.features >= low).all()
    assert (table.features <= high).all()
    assert table.response.min() >= table.target.low >= 0
    assert table.response.max() <= table.target.high <= 10
    assert set(np.unique(table.response)) <= set(range(11))
    assert not table.leaks
    assert not wine.synthetic
    np.testing.assert_array_equal(table.features, make("dataset", "wine", color=color).table(stream(1)).features)


def test_the_two_wines_differ_in_what_names_them(make) -> None:
    assert make("dataset", "wine").fingerprint() != make("dataset", "wine", color="red").fingerprint()


def test_attributes_are_chosen_by_name_in_the_table_s_order(make) -> None:
    table = make("dataset", "wine", attributes=["alcohol", "ph"]).table(stream(0))
    assert table.attributes == ("ph", "alcohol")
    whole = make("dataset", "wine").table(stream(0))
    np.testing.assert_array_equal(table.features[:, 1], whole.features[:, -1])
    with pytest.raises(Refused, match="alcohol"):
        make("dataset", "wine", attributes=["alcohl"]).table(stream(0))


def test_the_gaussian_table_has_its_declared_moments(make) -> None:
    """20,000 × 5 standard normals: mean of squares within 6 standard errors, and residual variance; false alarm 1e-8."""
    dataset = make("dataset", "gaussian", n=20_000, d=5, noise=0.25)
    table = dataset.table(stream(3))
    assert dataset.synthetic
    assert abs(np.mean(table.features**2) - 1) < 6 * np.sqrt(2 / table.features.size)
    weights = np.linalg.lstsq(table.features, table.response, rcond=None)[0]
    residual = np.mean((table.response - table.features @ weights) ** 2)
    assert abs(residual / 0.25 - 1) < 6 * np.sqrt(2 / 20_000)


def test_the_gaussian_table_is_its_generator_s(make) -> None:
    dataset = make("dataset", "gaussian", n=50, d=2)
    np.testing.assert_array_equal(dataset.table(stream(0)).features, dataset.table(stream(0)).features)
    assert (dataset.table(stream(0)).features != dataset.table(stream(1)).features).all()
    assert not dataset.redrawn()
    assert make("dataset", "gaussian", redraw=True).redrawn()


def test_public_bounds_do_not_depend_on_the_rows_and_the_sample_s_are_a_leak(make) -> None:
    public, private = make("dataset", "gaussian", n=50, d=2), make("dataset", "gaussian", n=50, d=2, bounds="data")
    first, second = public.table(stream(0)), public.table(stream(1))
    assert (first.columns, first.target, first.radius) == (second.columns, second.target, second.radius)
    assert not first.leaks
    first, second = private.table(stream(0)), private.table(stream(1))
    assert first.columns != second.columns
    assert [leak.what for leak in first.leaks] == ["bounds_from_data"]


@pytest.mark.parametrize(("rate", "rows", "sampled"), [(1.0, 10, 10), (0.5, 11, 6), (0.25, 8, 2)])
def test_a_sampling_rate_is_a_public_number_of_rows(rate, rows, sampled, make) -> None:
    assert make("dataset", "gaussian", sample_rate=rate).rows_per_repeat(rows) == sampled


def test_a_sampling_rate_that_leaves_nothing_is_refused(make) -> None:
    with pytest.raises(Refused, match="leaves 1 of 100 rows"):
        make("dataset", "gaussian", sample_rate=0.01).rows_per_repeat(100)


def test_a_table_that_is_drawn_anew_has_its_own_unit_in_each_repeat(make) -> None:
    """With bounds from the data every repeat's target has another range, and rmse_raw is in that repeat's unit."""
    from dpbench.cells.loading import DatasetRows
    from dpbench.data.splits import Splits

    dataset = make("dataset", "gaussian", n=60, d=2, bounds="data", redraw=True)
    source = DatasetRows(dataset, make("model", "linear"), Splits(repeats=3, folds=2), 0)
    block = source.block(range(3))
    expected = [source.scaled(repeat).rows.geometry.half_range for repeat in range(3) for _ in range(2)]
    assert len(set(expected)) == 3
    np.testing.assert_array_equal(block.test.half_range, expected)
