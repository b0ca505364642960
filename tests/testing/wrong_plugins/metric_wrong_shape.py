"""A number for each row. Expected: compute_run returns arrays of the shapes (120,) and (60,) for two runs."""

import numpy as np

from dpbench import Metric, hookimpl


def error(rows):
    return np.abs(rows.y - rows.score)


@hookimpl
def dpbench_metrics():
    return [Metric("metric_wrong_shape", "error", "The mean absolute error.", "lower", compute_run=error)]
