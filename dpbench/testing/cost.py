"""What a component takes, in CPU time and memory: reported next to the checks, and never judged."""

import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpbench.audit.neighbours import common_rows
from dpbench.audit.subject import example_geometry
from dpbench.base.one_thread import one_thread
from dpbench.data.samples import WholeSample
from dpbench.testing.mechanism_case import MechanismCase

ROWS, COLUMNS, RUNS = 1_000, 10, 5
"""The table on which a fit is measured, and how many runs are fitted together."""


def cost_of(kind: str, case: Any) -> Mapping[str, float]:
    """Return CPU seconds and bytes by what they are for; nothing for the kinds that are not measured."""
    measure = {"mechanism": _fit_of}.get(kind)
    if measure is None:
        return {}
    with one_thread():
        return _measured(measure(case))


def _fit_of(case: MechanismCase) -> Callable[[], object]:
    rows = common_rows(example_geometry(case.model, COLUMNS), ROWS)
    return lambda: case.fit(WholeSample(*[rows] * RUNS))


def _measured(task: Callable[[], object]) -> dict[str, float]:
    """Measure a task twice: what is imported or cached at the first time is no cost of a fit."""
    task()
    start = time.process_time()
    task()
    seconds = time.process_time() - start
    tracemalloc.start()
    try:
        task()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    what = f"A fit of {ROWS:,} rows and {COLUMNS} columns takes, for each of {RUNS} runs,"
    return {f"{what} seconds": seconds / RUNS, "and bytes": float(np.ceil(peak / RUNS))}
