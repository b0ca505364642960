"""A metric of two arrays. Expected: dpbench calls compute_run(rows), and compute_run takes (y, prediction)."""

import numpy as np

from dpbench import Metric, hookimpl


def error(y, prediction):
    return np.abs(y - prediction).mean()


@hookimpl
def dpbench_metrics():
    return [Metric("metric_wrong_signature", "error", "The mean absolute error.", "lower", compute_run=error)]
