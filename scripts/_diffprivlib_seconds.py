"""Time fits of diffprivlib's LinearRegression; run by dpbench.base.outside_package in diffprivlib's own environment.

``seconds`` are those of the processor that each fit took, on one thread. Measuring needs no noise that can be repeated, and the
bounds are those of dpbench's scaled rows, so that nothing is learned from the rows.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is imported

import numpy as np  # noqa: E402
from diffprivlib import BudgetAccountant  # noqa: E402
from diffprivlib.models import LinearRegression  # noqa: E402


def main() -> None:
    folder = Path(sys.argv[1])
    options = json.loads((folder / "options.json").read_text())
    with np.load(folder / "arrays.npz") as arrays:
        features, target = arrays["features"], arrays["target"]
    warnings.simplefilter("ignore")
    seconds = []
    for _ in range(1 + options["fits"]):
        bounds = {"bounds_X": (-1.0, 1.0), "bounds_y": (-1.0, 1.0)}
        model = LinearRegression(epsilon=options["epsilon"], fit_intercept=False, accountant=BudgetAccountant(), **bounds)
        start = time.process_time()
        model.fit(features, target)
        seconds.append(time.process_time() - start)
    np.savez(folder / "results.npz", seconds=seconds[1:])  # the first fit imports what it needs


if __name__ == "__main__":
    main()
