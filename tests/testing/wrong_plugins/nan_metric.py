"""A metric that is no number. Expected: The metric of the non-private fit is nan, on rows like any others."""

from dpbench import Metric, hookimpl


def nothing(rows):
    return float("nan")


@hookimpl
def dpbench_metrics():
    return [Metric("nan_metric", "nothing", "It is never a number.", "lower", compute_run=nothing)]
