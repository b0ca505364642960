"""An error whose text quotes private rows. Expected: the text of the error quotes a value of a private row"""

from dpbench import Metric, hookimpl


def error(rows):
    raise ValueError(f"cannot compare {rows.y.tolist()}")


@hookimpl
def dpbench_metrics():
    return [Metric("metric_quotes_rows", "error", "The mean absolute error.", "lower", compute_run=error)]
