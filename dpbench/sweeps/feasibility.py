"""Refuse cells that this machine cannot hold, before anything is loaded, with the memory and the time that they would take."""

import os

from dpbench.base.errors import Refused
from dpbench.contracts.dataset import Dataset
from dpbench.data.splits import Splits

BYTES_PER_RUN = 2_000
"""About 150 metrics of each run of a cell, and what summarizing them takes."""
TABLE_COPIES = 3
"""The drawn table, the scaled one, and temporary arrays in between."""
SECONDS_PER_RUN = 3e-5
SECONDS_PER_VALUE_AND_REPEAT = 1e-8
"""To draw, scale, split and sum one value of a table; rough, because it only has to tell minutes from months."""
GIGABYTE = 10**9


def check_memory(dataset: Dataset, splits: Splits, limit: int | None = None) -> None:
    """Refuse a table or a number of runs that needs more memory than the machine (or ``limit``, in bytes) has."""
    limit = machine_memory() if limit is None else limit
    rows, features = dataset.shape() or (0, 0)
    values = rows * (features + 1)
    for key, size, seconds in (
        (f"A table of {rows:,} rows and {features:,} features", 8 * TABLE_COPIES * values, values * SECONDS_PER_VALUE_AND_REPEAT),
        (f"A cell of {splits.runs:,} runs (splits.repeats={splits.repeats})", BYTES_PER_RUN * splits.runs, 0.0),
    ):
        if size > limit:
            time = spell_seconds(seconds * splits.repeats + SECONDS_PER_RUN * splits.runs)
            raise Refused(
                f"{key} would take {size / GIGABYTE:,.0f} GB of memory and {time} or more. "
                f"This machine has {limit / GIGABYTE:,.0f} GB."
            )


def machine_memory() -> int:
    """Return the memory of this machine in bytes, or as much as a machine can have where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 2**62


def spell_seconds(seconds: float) -> str:
    """Return a duration in its largest fitting unit."""
    for unit, size in (("years", 365 * 86_400), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"
