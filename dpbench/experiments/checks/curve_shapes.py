"""The checks about how a metric changes along one parameter."""

from dataclasses import dataclass

import numpy as np

from dpbench.base.options import option
from dpbench.experiments.checks import intervals
from dpbench.experiments.checks.cell_selection import Curve
from dpbench.experiments.checks.check import Along, Bound, Pairwise, bounded, reference_metric
from dpbench.records.cell_record import CellRecord


@dataclass(frozen=True)
class Stable(Along):
    """The means differ by at most a share of their average, from the smallest to the largest."""

    share: float = option(0.05, low=0, open_low=True, help="the share")
    leave_out: tuple[float, ...] = option((), help="values of the parameter that do not count")

    def bounds(self, metric: str, cells: Curve) -> tuple[Bound, ...]:
        counting = [row for row in cells if float(row.params[self.along]) not in self.leave_out]
        numbers = intervals.spread_of_means(counting, metric) if len(counting) > 1 else None
        return bounded("spread of the means", numbers, self.share, "at most", "%")


@dataclass(frozen=True)
class UShape(Along):
    """The metric falls and rises again: both ends lie above the lowest point between them.

    The same numbers choose that point, so it is chosen anew in every draw that makes the interval.
    """

    def bounds(self, metric: str, cells: Curve) -> tuple[Bound, ...]:
        values = intervals.paired_means(*((row, metric) for row in cells))
        if len(cells) < 3 or not values.shape[1]:
            return ()
        lowest = 1 + int(np.argmin(values[1:-1].mean(1)))
        scale = abs(float(values[lowest].mean())) or 1.0
        point = cells[lowest].params[self.along]
        first = intervals.resampled(lambda x: x[0].mean(-1) - x[1:-1].mean(-1).min(0), values)
        last = intervals.resampled(lambda x: x[-1].mean(-1) - x[1:-1].mean(-1).min(0), values)
        ends = {f"first above {point} by": first, f"last above {point} by": last}
        return tuple(b for what, numbers in ends.items() for b in bounded(what, numbers, 0.0, "above", metric, scale))


@dataclass(frozen=True)
class NeedsLess(Pairwise, Along):
    """The first value at which a curve comes a share of the way between two references is lower than that of other curves.

    The way is measured by the medians over the repeats, and the value by a line between two points on a logarithmic axis.
    """

    along: str = option("dataset.n", help="the parameter")
    start: str = option("reference/mean_predictor/", help="where the way begins")
    goal: str = option("reference/no_privacy/", help="where it ends")
    share: float = option(0.5, low=0, high=1, open_low=True, open_high=True, help="how much of the way is asked for")

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        cells = [*first, *other]
        values = intervals.paired_means(*(pair for row in cells for pair in self._metrics(row)))
        if not values.shape[1]:
            return ()
        grids = [np.log([float(row.params[self.along]) for row in curve]) for curve in (first, other)]

        def crossings(x: np.ndarray) -> list[np.ndarray]:
            value, start, goal = np.median(x, -1).reshape(len(cells), 3, *x.shape[1:-1]).swapaxes(0, 1)
            excess = (value - start) / (goal - start) - self.share
            return [_crossing(grid, part) for grid, part in zip(grids, np.split(excess, [len(first)]), strict=True)]

        def ratio(x: np.ndarray) -> np.ndarray:
            a, b = crossings(x)
            never = np.isinf(a) & np.isinf(b)
            return np.asarray(np.exp(np.where(never, np.nan, a) - np.where(never, 0.0, b)))

        points = [float(np.exp(crossing)) for crossing in crossings(values)]
        texts = ["never in the grid" if np.isinf(point) else f"{point:.3g}" for point in points]
        return bounded(f"reached at {texts[0]} against {texts[1]}, ratio", intervals.resampled(ratio, values), 1.0)

    def _metrics(self, row: CellRecord) -> tuple[tuple[CellRecord, str], ...]:
        metric = self.metric_of(row)
        return (row, metric), (row, reference_metric(self.start, metric)), (row, reference_metric(self.goal, metric))


def _crossing(grid: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Return where a curve first rises above zero, on a line between two points; infinity where it never does."""
    reached = excess >= 0
    after = reached.argmax(0)
    before = np.maximum(after - 1, 0)
    high, low = (np.take_along_axis(excess, index[None], 0)[0] for index in (after, before))
    step = np.where(high > low, high - low, 1.0)
    inside = grid[before] + (grid[after] - grid[before]) * np.where(after > 0, -low / step, 0.0)
    return np.asarray(np.where(reached.any(0), inside, np.inf))


CHECKS = (Stable, UShape, NeedsLess)
