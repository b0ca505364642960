"""A metric that seeds what everybody shares. Expected: It used numpy.random, which others share."""

import numpy as np

from dpbench import Metric, hookimpl


def error(rows):
    np.random.seed(3)
    return np.abs(rows.y - rows.score).mean()


@hookimpl
def dpbench_metrics():
    return [Metric("metric_global_seed", "error", "The mean absolute error.", "lower", compute_run=error)]
