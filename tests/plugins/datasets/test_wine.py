"""The wines: complete tables within public bounds, and the error that least squares is known to make on them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.data.scaling import scale


def test_the_table_states_its_origin_and_its_public_facts(make) -> None:
    wine = make("dataset", "wine")
    table = wine.select(stream(0))
    assert (wine.synthetic, wine.licence) == (False, "CC BY 4.0")
    assert "Cortez" in wine.citation
    assert table.threshold == 5
    assert table.target.unit == "points"
    assert table.target.levels == 7
    assert {column.name for column in table.columns if not column.unit} == {"ph"}
    assert {column.levels for column in table.columns} == {0}
    assert table.sensitive == ()


def test_least_squares_meets_the_reference_error(make) -> None:
    """RMSE 0.2489 on the scaled target (the mean predictor's is 0.2950): 80/20, mean of the splits of seeds 0 to 9."""
    rows = scale(make("dataset", "wine").select(stream(0)), "box", True, "real")
    errors, constants = [], []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(rows.n)
        test, train = rows.take(order[: rows.n // 5]), rows.take(order[rows.n // 5 :])
        weights = np.linalg.lstsq(train.x, train.y, rcond=None)[0]
        errors.append(np.sqrt(np.mean((test.y - test.x @ weights) ** 2)))
        constants.append(np.sqrt(np.mean((test.y - train.y.mean()) ** 2)))
    assert np.mean(errors) == pytest.approx(0.2489, abs=0.006)
    assert np.mean(constants) == pytest.approx(0.2950, abs=0.006)


@pytest.mark.parametrize(("color", "n"), [("white", 4_898), ("red", 1_599)])
def test_wine_is_whole_and_within_its_printed_ranges(color, n, make) -> None:
    wine = make("dataset", "wine", color=color)
    table = wine.select(stream(0))
    assert table.features.shape == (n, 11)
    low, high = np.array([(column.low, column.high) for column in table.columns]).T
    assert (table.features >= low).all()
    assert (table.features <= high).all()
    assert table.response.min() >= table.target.low >= 0
    assert table.response.max() <= table.target.high <= 10
    assert set(np.unique(table.response)) <= set(range(11))
    assert not table.leaks
    assert not wine.synthetic
    np.testing.assert_array_equal(table.features, make("dataset", "wine", color=color).select(stream(1)).features)


def test_the_two_wines_have_different_fingerprints(make) -> None:
    assert make("dataset", "wine").fingerprint() != make("dataset", "wine", color="red").fingerprint()


@pytest.mark.parametrize("color", ["white", "red"])
def test_bounds_that_are_extremes_of_the_table_itself_say_so(make, color: str) -> None:
    dataset = make("dataset", "wine", color=color)
    table = dataset.select(np.random.default_rng(0))
    ends = [(column.low, column.high) for column in table.columns]
    exact = [pair == (values.min(), values.max()) for pair, values in zip(ends, table.features.T, strict=True)]
    assert any(exact)
    assert "the extremes of the public table itself" in dataset.remark
    assert "the extremes of the public table" in " ".join((type(dataset).__doc__ or "").split())
