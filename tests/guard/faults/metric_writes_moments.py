"""A metric that writes into the moments of the test rows. Expected: caught."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpbench import Metric, hookimpl


def overwrite(predictions: Any) -> Any:
    """Write into what all metrics share."""
    predictions.test.moments.gram[:] *= 2
    predictions.weights[:] = 0
    return np.zeros(len(predictions.weights))


@hookimpl
def dpbench_metrics() -> Any:
    return [Metric("writes", "writes", "It writes.", "lower", compute=overwrite)]
