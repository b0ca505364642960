"""A metric that writes zeros into the rows and the scores that other metrics use. Expected: caught."""

from __future__ import annotations

from typing import Any

from dpbench import Metric, hookimpl


def overwrite(rows: Any) -> float:
    """Write into what all metrics share."""
    rows.y[:] = 0
    rows.score[:] = 0
    return 0.0


@hookimpl
def dpbench_metrics() -> Any:
    return [Metric("writes", "writes", "It writes.", "lower", compute_run=overwrite)]
