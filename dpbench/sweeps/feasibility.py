"""Refuse cells that this machine cannot hold, before anything is loaded, with the memory and the time that they would take."""

from dpbench.base.memory import refuse_beyond_memory
from dpbench.contracts.dataset import Dataset
from dpbench.data.splits import Splits

BYTES_PER_RUN = 2_000
"""About 150 metrics of each run of a cell, and what summarizing them takes."""
TABLE_COPIES = 3
"""The drawn table, the scaled one, and temporary arrays in between."""
SUM_COPIES = 8
"""The sums of parts, of training and of test rows, the matrices of fits, their spectra, and temporary arrays."""
SECONDS_PER_RUN = 3e-5
SECONDS_PER_VALUE_AND_REPEAT = 1e-8
"""To draw, scale, split and sum one value of a table; rough, because it only has to tell minutes from months."""


def check_memory(dataset: Dataset, splits: Splits, limit: int | None = None) -> None:
    """Refuse a table or a number of runs that needs more memory than the machine (or ``limit``, in bytes) has."""
    rows, features = dataset.shape() or (0, 0)
    size, seconds = table_bytes(rows, features), rows * (features + 1) * SECONDS_PER_VALUE_AND_REPEAT
    time = spell_seconds(seconds * splits.repeats + SECONDS_PER_RUN * splits.runs)
    refuse_beyond_memory(f"A table of {rows:,} rows and {features:,} features", size, time, limit)
    what = f"A cell of {splits.runs:,} runs (splits.repeats={splits.repeats})"
    refuse_beyond_memory(what, BYTES_PER_RUN * splits.runs, spell_seconds(SECONDS_PER_RUN * splits.runs), limit)
    check_sums(features, splits, limit)


def check_sums(features: int, splits: Splits, limit: int | None = None) -> None:
    """Refuse columns, levels counted one by one, whose products of two cannot be summed in the memory of the machine."""
    what = f"The sums of products of {features:,} columns, for the {splits.parts} parts of one repeat,"
    refuse_beyond_memory(what, sums_bytes(features, splits), limit=limit)


def table_bytes(rows: int, features: int) -> int:
    """Return about how much memory loading a table takes."""
    return 8 * TABLE_COPIES * rows * (features + 1)


def sums_bytes(features: int, splits: Splits, repeats: int = 1) -> int:
    """Return about how much memory the sums of a block of repeats and the fits to them take."""
    return 8 * SUM_COPIES * repeats * splits.parts * (features + 2) ** 2


def spell_seconds(seconds: float) -> str:
    """Return a duration in its largest fitting unit."""
    for unit, size in (("years", 365 * 86_400), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"
