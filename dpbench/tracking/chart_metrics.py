"""Metrics that exist for MLflow's charts, which can neither select the cells of one table nor draw a logarithmic axis of ε."""

import math
import re

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import EPSILON_ACCOUNTED, EPSILON_LOG10, PROBLEM_ERROR

MAX_NAME_LENGTH = 200
"""MLflow refuses names above 250 characters."""

_NOT_ALLOWED = re.compile(r"[^\w .:/-]")


def chart_metrics(record: CellRecord) -> dict[str, float]:
    """Return the error under the name of the cell's problem, and the decimal logarithm of the accounted ε.

    A chart draws the runs that have both of its metrics: an error with a name of its own has a chart of its own.
    """
    error, epsilon = record.error(), record.metrics.get(EPSILON_ACCOUNTED)
    metrics = {problem_metric(record): error} if error is not None and math.isfinite(error) else {}
    return metrics | ({EPSILON_LOG10: math.log10(epsilon)} if epsilon else {})


def problem_metric(record: CellRecord) -> str:
    """Return the name of the error on the cell's problem: ``error/linear on wine``."""
    components = ("model", "dataset")
    options = [f" {key}:{value}" for key, value in record.problem if key.startswith(("model.", "dataset."))]
    name = " on ".join(record.params.get(component, "") for component in components) + "".join(options)
    return PROBLEM_ERROR + _NOT_ALLOWED.sub("_", name)[:MAX_NAME_LENGTH]
