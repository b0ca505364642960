"""The checks about how a metric changes along one parameter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.experiments.checks.cell_selection import curves, mechanism_of, pairs_of_curves, place_of
from dpbench.experiments.checks.check import Check, describe_pair, reference_metric
from dpbench.experiments.checks.findings import Bound, Finding, bounded
from dpbench.experiments.checks.intervals import (
    SPREAD_HELP,
    TIMING_MARGIN,
    difference,
    paired_means,
    positive_ratio,
    resampled,
    spread_ratio,
)
from dpbench.records.cell_record import CellRecord

Curve = Sequence[CellRecord]


@dataclass(frozen=True)
class Along(Check):
    """Cells are taken in the order of one parameter."""

    along: str = option("epsilon", help="the parameter: only cells with a number there count")

    def findings(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        for curve in curves(rows, self.cells, self.along):
            bounds = tuple(self.bounds(curve, self.metric_of(curve[0])))
            yield Finding(place_of(curve[0], (self.along,)), tuple(curve), bounds, mechanism_of(curve[0], (self.along,)))

    @abstractmethod
    def bounds(self, curve: Curve, metric: str) -> Iterable[Bound]: ...


@dataclass(frozen=True)
class Falls(Along):
    """The metric falls from the first value to the last, and no step between them is a rise that noise does not explain."""

    side: ClassVar[Literal["below", "above"]] = "below"

    def bounds(self, curve: Curve, metric: str) -> Iterable[Bound]:
        whole = difference("changes by", curve[-1], curve[0], metric, self.side)
        if whole is None:
            return []
        steps = []
        if len(curve) > 2:
            confidence = 1 - 0.05 / (len(curve) - 1)  # Bonferroni, over the steps
            name = "changes in one step by"
            steps = [difference(name, after, before, metric, self.side, confidence) for before, after in pairwise(curve)]
        # a step of exactly zero goes nowhere, so it is no step back
        wrong = [step for step in steps if step and step.holds is False and (step.low > 0 or step.high < 0)]
        return [whole, *sorted(wrong, key=lambda step: step.slack)[:1]]


@dataclass(frozen=True)
class Rises(Falls):
    """The metric rises from the first value to the last, and no step between them is a fall that noise does not explain."""

    side = "above"


@dataclass(frozen=True)
class Approaches(Falls):
    """The metric falls, and at the last value its median is at most ``ratio`` times that of a reference."""

    reference: str = option("reference/no_privacy/", help="the beginning of the reference's metric")
    ratio: float = option(1.05, low=1, help="how many times the reference's median it may be at the end")

    def bounds(self, curve: Curve, metric: str) -> Iterable[Bound]:
        values = paired_means((curve[-1], metric), (curve[-1], reference_metric(self.reference, metric)))
        numbers = resampled(lambda x: positive_ratio(np.median(x[0], -1), np.median(x[1], -1)), values)
        return [*super().bounds(curve, metric), *bounded("at the end, times the reference", numbers, self.ratio)]


@dataclass(frozen=True)
class Stable(Along):
    """The means differ by at most a share of their average, from the smallest to the largest."""

    share: float = option(0.05, low=0, open_low=True, help="the share")
    leave_out: tuple[float, ...] = option((), help="values of the parameter that do not count")

    def bounds(self, curve: Curve, metric: str) -> Iterable[Bound]:
        counting = [row for row in curve if float(row.params[self.along]) not in self.leave_out]
        if len(counting) < 2:
            return ()
        if all(metric in row.detail.runs for row in counting):
            values = paired_means(*((row, metric) for row in counting))
            numbers = resampled(lambda x: np.ptp(x.mean(-1), axis=0) / np.abs(x.mean(-1).mean(0)), values)
        else:
            timings = np.array([row.metric(metric) or np.nan for row in counting])
            spread = float(np.ptp(timings) / timings.mean())
            numbers = None if np.isnan(spread) else (spread, max(spread - TIMING_MARGIN, 0.0), spread + TIMING_MARGIN)
        return bounded("spread of the means", numbers, self.share, "at most", "%")


@dataclass(frozen=True)
class Settles(Along):
    """The spread over the repeats at the last value is at most a share of that at the first."""

    spread: Literal["variance", "band"] = option("variance", help=SPREAD_HELP)
    share: float = option(0.5, low=0, open_low=True, help="the share")
    side: ClassVar[Literal["at most", "above"]] = "at most"

    def bounds(self, curve: Curve, metric: str) -> Iterable[Bound]:
        numbers = spread_ratio(self.spread, (curve[-1], metric), (curve[0], metric))
        return bounded(f"{self.spread}, last / first", numbers, self.share, self.side)


@dataclass(frozen=True)
class Unsettled(Settles):
    """The spread over the repeats at the last value is more than a share of that at the first."""

    side = "above"


@dataclass(frozen=True)
class UShape(Along):
    """The metric falls and rises again: both ends lie above the lowest point between them.

    The same numbers choose that point, so it is chosen anew in every draw that makes the interval.
    """

    def bounds(self, curve: Curve, metric: str) -> Iterable[Bound]:
        values = paired_means(*((row, metric) for row in curve))
        if len(curve) < 3 or not values.shape[1]:
            return []
        lowest = 1 + int(np.argmin(values[1:-1].mean(1)))
        scale = abs(float(values[lowest].mean())) or 1.0
        point = curve[lowest].params[self.along]
        first = resampled(lambda x: x[0].mean(-1) - x[1:-1].mean(-1).min(0), values)
        last = resampled(lambda x: x[-1].mean(-1) - x[1:-1].mean(-1).min(0), values)
        return [
            *bounded(f"first above {point} by", first, 0.0, "above", metric, scale),
            *bounded(f"last above {point} by", last, 0.0, "above", metric, scale),
        ]


@dataclass(frozen=True)
class AlongBoth(Check):
    """Curves along one parameter are compared with others at the same place."""

    along: str = option("epsilon", help="the parameter")
    against: dict[str, Any] = option({}, help="the curves that are compared with")

    required = ("against",)

    def findings(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        own, others = (curves(rows, selection, self.along) for selection in (self.cells, self.against))
        for first, other in pairs_of_curves(own, others, self.against, self.along):
            cells = self.compared_cells(first, other)
            if cells:
                compared = describe_pair(first[0], other[0], self.against)
                yield Finding(place_of(first[0], (self.along, *self.against)), cells, self.bounds(first, other), compared)

    def compared_cells(self, first: Curve, other: Curve) -> tuple[CellRecord, ...]:
        """Return the cells that the comparison rests on; none where the curves cannot be compared."""
        return (*first, *other)

    @abstractmethod
    def bounds(self, first: Curve, other: Curve) -> tuple[Bound, ...]: ...


@dataclass(frozen=True)
class NeedsLess(AlongBoth):
    """The first value at which a curve comes a share of the way between two references is lower than that of other curves.

    The way is measured by the medians over the repeats, and the value by a line between two points on a logarithmic axis.
    """

    along: str = option("dataset.n", help="the parameter")
    start: str = option("reference/mean_predictor/", help="where the way begins")
    goal: str = option("reference/no_privacy/", help="where it ends")
    share: float = option(0.5, low=0, high=1, open_low=True, open_high=True, help="how much of the way is asked for")

    def bounds(self, first: Curve, other: Curve) -> tuple[Bound, ...]:
        cells = [*first, *other]
        values = paired_means(*(pair for row in cells for pair in self._metrics(row)))
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
        return bounded(f"reached at {texts[0]} against {texts[1]}, ratio", resampled(ratio, values), 1.0)

    def _metrics(self, row: CellRecord) -> tuple[tuple[CellRecord, str], ...]:
        metric = self.metric_of(row)
        return (row, metric), (row, reference_metric(self.start, metric)), (row, reference_metric(self.goal, metric))


@dataclass(frozen=True)
class Widens(AlongBoth):
    """The ratio of the others' mean to its own is larger at the last value of a parameter than at the first."""

    def compared_cells(self, first: Curve, other: Curve) -> tuple[CellRecord, ...]:
        ends = [first[0], other[0], first[-1], other[-1]]
        values = [row.params[self.along] for row in ends]
        return tuple(ends) if values[0] == values[1] and values[2] == values[3] else ()

    def bounds(self, first: Curve, other: Curve) -> tuple[Bound, ...]:
        metric = self.metric_of(first[0])
        values = paired_means(*((row, metric) for row in self.compared_cells(first, other)))

        def growth(x: np.ndarray) -> np.ndarray:
            start, start_of_other, end, end_of_other = (row.mean(-1) for row in x)
            return positive_ratio(positive_ratio(end_of_other, end), positive_ratio(start_of_other, start))

        return bounded("the ratio grows by the factor", resampled(growth, values), 1.0, "above")


def _crossing(grid: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """Return where a curve first rises above zero, on a line between two points; infinity where it never does."""
    reached = excess >= 0
    after = reached.argmax(0)
    before = np.maximum(after - 1, 0)
    high, low = (np.take_along_axis(excess, index[None], 0)[0] for index in (after, before))
    step = np.where(high > low, high - low, 1.0)
    inside = grid[before] + (grid[after] - grid[before]) * np.where(after > 0, -low / step, 0.0)
    return np.asarray(np.where(reached.any(0), inside, np.inf))


CHECKS = (Falls, Rises, Approaches, Stable, Settles, Unsettled, UShape, NeedsLess, Widens)
