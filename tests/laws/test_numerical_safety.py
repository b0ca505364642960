"""Fits without noise are those of an independent solver on the same rows, whatever the spreads of the columns.

The oracle solves the rows themselves, by a QR decomposition of the shifted and scaled columns in NumPy's longest floats. It
shares neither sums nor solver with the fits.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import FRACTION_BITS, Rows, scale
from dpbench.data.table import Column, Table

TOLERANCE = 1e-9
ROWS = 20_000
OFFSETS = (0.0, 0.37, -0.93)
"""Where in its bounds the column of small spread lies."""


def least_squares(rows: Rows) -> np.ndarray:
    """Return the weights that minimise the squared errors of the rows."""
    x, y = rows.x.astype(np.longdouble), rows.y.astype(np.longdouble)
    intercept, constant = rows.geometry.intercept, np.longdouble(rows.geometry.constant)
    features = x[:, 1:] if intercept else x
    means, mean = (features.mean(axis=0), y.mean()) if intercept else (np.zeros(features.shape[1], np.longdouble), 0)
    features, y = features - means, y - mean
    spreads = np.sqrt(np.square(features).mean(axis=0))
    slopes = _by_householder(features / spreads, y) / spreads
    return np.array([(mean - means @ slopes) / constant, *slopes] if intercept else slopes, dtype=float)


def _by_householder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Solve by reflections: NumPy's own decomposition has no long floats."""
    x, y, width = x.copy(), y.copy(), x.shape[1]
    for column in range(width):
        vector = x[column:, column].copy()
        vector[0] += np.copysign(np.sqrt(vector @ vector), vector[0])
        vector /= np.sqrt(vector @ vector)
        x[column:] -= 2 * np.outer(vector, vector @ x[column:])
        y[column:] -= 2 * vector * (vector @ y[column:])
    weights = np.zeros(width, np.longdouble)
    for row in reversed(range(width)):
        weights[row] = (y[row] - x[row, row + 1 :] @ weights[row + 1 :]) / x[row, row]
    return weights


def table_of(features: np.ndarray, seed: int) -> Table:
    generator = np.random.default_rng(seed)
    response = np.clip(
        features @ generator.uniform(-0.4, 0.4, features.shape[1]) + generator.normal(0, 0.2, len(features)), -1, 1
    )
    columns = tuple(Column(f"x{index}", -1, 1) for index in range(features.shape[1]))
    return Table(columns, Column("y", -1, 1), features, response)


def unequal(ratio: float, offset: float, seed: int) -> np.ndarray:
    """Return columns of which the last one's spread is smaller by this ratio: few rows differ, and by a few grid steps."""
    generator = np.random.default_rng(seed)
    features = generator.uniform(-1, 1, (ROWS, 5))
    step = 2.0**-FRACTION_BITS
    share = min(0.5, (features[:, 0].std() / ratio / step) ** 2)
    height = max(1.0, features[:, 0].std() / ratio / step / 0.5)
    features[:, -1] = np.round(offset / step) * step + step * np.round(height) * (generator.random(ROWS) < share)
    return features


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_fits_without_noise_are_those_of_the_oracle(make, curate, scaling, intercept) -> None:
    rows = scale(table_of(np.random.default_rng(0).uniform(-1, 1, (ROWS, 6)), 1), scaling, intercept, "real")
    problem = make("model", "linear", intercept=intercept).prepare(curate(rows))
    weights = problem.exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, least_squares(rows), rtol=TOLERANCE, atol=0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("ratio", [1e3, 1e5, 1e6])
def test_they_are_also_where_the_spreads_of_columns_differ_a_millionfold(make, curate, ratio, offset, intercept) -> None:
    rows = scale(table_of(unequal(ratio, offset, 2), 3), "box", intercept, "real")
    spreads = rows.z[:, 1:-1].std(axis=0)
    assert spreads.max() / spreads.min() == pytest.approx(ratio, rel=0.4)
    problem = make("model", "linear", intercept=intercept).prepare(curate(rows))
    weights = problem.exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, least_squares(rows), rtol=TOLERANCE, atol=0)


@pytest.mark.parametrize("intercept", [True, False])
def test_they_are_also_where_two_columns_are_nearly_the_same(make, curate, intercept) -> None:
    features = np.random.default_rng(6).uniform(-1, 1, (ROWS, 5))
    features[:, 1] = np.clip(features[:, 0] + np.random.default_rng(7).normal(0, 1e-4, ROWS), -1, 1)
    rows = scale(table_of(features, 8), "box", intercept, "real")
    assert np.linalg.cond(rows.x.T @ rows.x) > 1e7
    weights = make("model", "linear", intercept=intercept).prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    np.testing.assert_allclose(weights, least_squares(rows), rtol=TOLERANCE, atol=0)


def test_columns_that_depend_on_each_other_keep_the_smallest_weights(make, curate) -> None:
    features = np.random.default_rng(4).uniform(-1, 1, (500, 3))
    features[:, 2] = features[:, 1]
    rows = scale(table_of(features, 5), "box", True, "real")
    weights = make("model", "linear").prepare(curate(rows)).exact(WholeSample(rows)).weights[0]
    assert weights[2] == pytest.approx(weights[3], rel=1e-9)
    np.testing.assert_allclose(weights, np.linalg.lstsq(rows.x, rows.y, rcond=None)[0], rtol=1e-9)
