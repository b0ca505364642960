"""Fit OpenDP's Theil–Sen regression many times; run by dpbench.base.outside_package in OpenDP's own environment.

Each row of ``weights`` is a fit: the intercept and the slope. ``epsilon`` is what the measurement's own map says for two tables
of the same size that differ in one row.
"""

import json
import sys
from pathlib import Path

import numpy as np
import opendp.prelude as dp


def main() -> None:
    folder = Path(sys.argv[1])
    options = json.loads((folder / "options.json").read_text())
    with np.load(folder / "arrays.npz") as arrays:
        features, target = arrays["features"], arrays["target"]
    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    regression = dp.sklearn.linear_model.LinearRegression(
        dp.max_divergence(),
        x_bounds=[tuple(options["bounds_x"])],
        y_bounds=tuple(options["bounds_y"]),
        scale=options["scale"],
    )
    weights = []
    for _ in range(options["runs"]):
        fitted = regression.fit(features, target)
        weights.append([float(fitted.intercept_), float(fitted.coef_[0])])
    # replacing a row is one removal and one addition
    np.savez(folder / "results.npz", weights=weights, epsilon=regression.measurement.map(2))


if __name__ == "__main__":
    main()
