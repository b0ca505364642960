"""Fit OpenDP's Theil–Sen regression many times; run by dpbench.base.outside_package in OpenDP's own environment.

Each row of ``weights`` is a fit: the intercept and the slope. ``epsilon`` is what the measurement's own map says for two tables
of the same size that differ in one row. OpenDP draws its noise from the operating system: seeds change nothing.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp

DISTANCE = 2
"""Replacing a row is one removal and one addition."""


def main() -> None:
    folder = Path(sys.argv[1])
    options: dict[str, Any] = json.loads((folder / "options.json").read_text())
    with np.load(folder / "arrays.npz") as arrays:
        tables = [np.split(arrays[name], arrays["ends"][:-1]) for name in ("features", "target")]
        fits = arrays["fits"]
    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    bounds = {"x_bounds": [tuple(options["bounds_x"])], "y_bounds": tuple(options["bounds_y"])}
    weights, epsilon = [], 0.0
    for features, target, count in zip(*tables, fits, strict=True):
        regression = calibrated(options["epsilon"], len(target), bounds)
        epsilon = max(epsilon, regression.measurement.map(DISTANCE))
        for _ in range(count):
            fitted = regression.fit(features, target)
            weights.append([float(fitted.intercept_), float(fitted.coef_[0])])
    np.savez(folder / "results.npz", weights=weights, epsilon=epsilon)


def calibrated(epsilon: float, rows: int, bounds: dict[str, Any]) -> Any:
    """Return a regression whose own map says at most this ε, which is inversely proportional to its scale."""
    scale, estimator = 1.0, dp.sklearn.linear_model.LinearRegression  # type: ignore[attr-defined]
    for _ in range(2):
        regression = estimator(dp.max_divergence(), **bounds, scale=scale)
        regression.fit(np.zeros((rows, 1)), np.zeros(rows))  # makes the measurement, from no row of the table
        scale *= regression.measurement.map(DISTANCE) / epsilon * (1 + 1e-9)
    return regression


if __name__ == "__main__":
    main()
