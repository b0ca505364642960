"""Whether the times of fits differ by more than noise."""

from collections.abc import Sequence
from statistics import median

from dpbench.records.cell_record import CellRecord
from dpbench.report.figures.panels import FigureData

MIN_TIME_RATIO = 3.0
"""Times of fits that differ by less than this are noise: the same fit takes up to twice as long on a busy machine."""


def times_differ(data: FigureData, cells: Sequence[CellRecord]) -> bool:
    """Return whether the slowest curve takes several times as long as the fastest, beyond the scatter within each of the two."""
    times = [[cell.metrics["time/fit_seconds"] for cell in curve] for curve in data.curves(cells).values()]
    if len(times) < 2:
        return False
    slowest, fastest = max(times, key=median), min(times, key=median)
    return median(slowest) >= MIN_TIME_RATIO * median(fastest) and min(slowest) > max(fastest)
