"""How far fits without noise are from an independent solver on the same scaled rows. Run by scripts/benchmark.py.

The oracle solves the rows themselves, by a QR decomposition of the shifted and scaled columns in NumPy's longest floats. It
shares neither sums nor solver with the fits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sweep_benchmarks import Measurement

from dpbench.data.samples import WholeSample
from dpbench.data.scaling import FRACTION_BITS, Rows, scale
from dpbench.data.table import Column, Table
from dpbench.fitting.least_squares import LeastSquares

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


def measure_agreement() -> Iterator[Measurement]:
    """Yield the largest relative error of a weight: of usual columns, and of columns whose spreads differ a millionfold."""
    tables = {"usual columns": [np.random.default_rng(0).uniform(-1, 1, (ROWS, 6))]}
    tables["columns whose spreads differ by 1e6"] = [unequal(1e6, offset, 2) for offset in OFFSETS]
    for name, designs in tables.items():
        errors = [relative_error(features, intercept) for features in designs for intercept in (True, False)]
        yield Measurement(f"a fit against an independent solver, {name}", max(errors), "relative", TOLERANCE)


def relative_error(features: np.ndarray, intercept: bool) -> float:
    """Return the largest relative error of a weight of the fit without noise."""
    rows = scale(table_of(features, 3), "box", intercept, "real")
    weights, exact = LeastSquares(rows.geometry, np.array([rows.n])).exact(WholeSample(rows)).weights[0], least_squares(rows)
    return float(np.abs(weights / exact - 1).max())
