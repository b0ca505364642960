"""Comparisons of cells as plain data: a sweep keeps them, so that its repetition does not compute thousands of them again."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics import medians, paired
from dpbench.report.statistics.medians import MedianDifference
from dpbench.report.statistics.paired import Comparison, compare


class KeptComparisons:
    """Compares two cells, or returns the comparison that was kept of the same two runs."""

    def __init__(self, content: Mapping[str, Any] | None = None) -> None:
        """Take what :func:`content_of` returned. Comparisons that other code made do not count."""
        usable = content is not None and content.get("code") == _code()
        self._rows = {(row["first"], row["second"]): row for row in (content["comparisons"] if content and usable else ())}

    def __call__(self, first: CellRecord, second: CellRecord, threshold: float) -> Comparison:
        row = self._rows.get((first.run_id, second.run_id))
        if row is None or row["threshold"] != threshold:
            return compare(first, second, threshold)
        error = math.inf if row["error"] is None else row["error"]
        difference = MedianDifference(row["value"], error, row["repeats"])
        return Comparison(first, second, difference, threshold, row["p"], row["p"], dropped=row["dropped"])


def content_of(comparisons: Iterable[Comparison]) -> dict[str, Any]:
    """Return comparisons of recorded cells as data for a JSON file."""
    rows = [
        {
            "first": comparison.first.run_id,
            "second": comparison.second.run_id,
            "threshold": comparison.threshold,
            "value": comparison.difference.value,
            "error": comparison.difference.error if math.isfinite(comparison.difference.error) else None,
            "repeats": comparison.difference.repeats,
            "dropped": comparison.dropped,
            "p": comparison.p,
        }
        for comparison in comparisons
    ]
    return {"code": _code(), "comparisons": rows}


@cache
def _code() -> str:
    """Return a digest of the code that compares, so that no comparison outlives a change of its method."""
    sources = (Path(str(module.__file__)).read_bytes() for module in (medians, paired))
    return hashlib.sha256(b"".join(sources)).hexdigest()
