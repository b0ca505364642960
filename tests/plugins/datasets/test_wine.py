"""The wines: units, a public threshold, and the error that least squares is known to make on them."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.data.scaling import scale


def test_wine_says_what_it_is(make) -> None:
    wine = make("dataset", "wine")
    table = wine.table(stream(0))
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
    rows = scale(make("dataset", "wine").table(stream(0)), "box", True, "real")
    errors, constants = [], []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(rows.n)
        test, train = rows.take(order[: rows.n // 5]), rows.take(order[rows.n // 5 :])
        weights = np.linalg.lstsq(train.x, train.y, rcond=None)[0]
        errors.append(np.sqrt(np.mean((test.y - test.x @ weights) ** 2)))
        constants.append(np.sqrt(np.mean((test.y - train.y.mean()) ** 2)))
    assert np.mean(errors) == pytest.approx(0.2489, abs=0.006)
    assert np.mean(constants) == pytest.approx(0.2950, abs=0.006)
