"""A metric that writes zeros into the scores of the references, which all cells share. Expected: caught."""

from __future__ import annotations

from typing import Any

from dpbench import Metric, hookimpl


def overwrite(comparison: Any) -> Any:
    """Write into what all metrics and cells share."""
    comparison.no_privacy["mse"][:] = 0
    return comparison.scores["mse"]


@hookimpl
def dpbench_metrics() -> Any:
    return [Metric("writes", "writes", "It writes.", "lower", compare=overwrite)]
