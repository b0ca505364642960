"""The checks about how a metric goes along one parameter."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.experiments.checks.cell_selection import curves, named, paired_curves, place
from dpbench.experiments.checks.check import SPREAD_HELP, SPREADS, Check, reference_of, versus
from dpbench.experiments.checks.intervals import TIMED, Bound, Finding, contrast, paired, resampled, times
from dpbench.records.cell_record import CellRecord


@dataclass(frozen=True)
class Along(Check):
    """Cells in the order of one parameter."""

    along: str = option("epsilon", help="the parameter: only cells with a number there count")

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        for curve in curves(rows, self.cells, self.along):
            bounds = tuple(self.bounds(curve, self.metric_of(curve[0])))
            yield Finding(place(curve[0], (self.along,)), tuple(curve), bounds, named(curve[0], (self.along,)))

    @abstractmethod
    def bounds(self, curve: Sequence[CellRecord], metric: str) -> Iterator[Bound]: ...


@dataclass(frozen=True)
class Falls(Along):
    """The metric falls from the first value to the last, and no step between them is a rise that noise does not explain."""

    side: ClassVar[Literal["below", "above"]] = "below"

    def bounds(self, curve: Sequence[CellRecord], metric: str) -> Iterator[Bound]:
        whole = contrast("changes by", curve[-1], curve[0], metric, self.side)
        if whole is None:
            return
        yield whole
        if len(curve) > 2:
            confidence = 1 - 0.05 / (len(curve) - 1)
            name = "changes in one step by"
            steps = [contrast(name, after, before, metric, self.side, confidence) for before, after in pairwise(curve)]
            # to stand still is not to go back
            wrong = [step for step in steps if step and step.holds is False and (step.low > 0 or step.high < 0)]
            yield from sorted(wrong, key=lambda step: step.slack)[:1]


@dataclass(frozen=True)
class Rises(Falls):
    """The metric rises from the first value to the last, and no step between them is a fall that noise does not explain."""

    side = "above"


@dataclass(frozen=True)
class Approaches(Falls):
    """The metric falls, and at the last value its median is at most so many times that of a reference."""

    reference: str = option("reference/no_privacy/", help="the beginning of the reference's metric")
    ratio: float = option(1.05, low=1, help="how many times the reference's median it may be at the end")

    def bounds(self, curve: Sequence[CellRecord], metric: str) -> Iterator[Bound]:
        yield from super().bounds(curve, metric)
        values = paired((curve[-1], metric), (curve[-1], reference_of(self.reference, metric)))
        if numbers := resampled(lambda x: times(np.median(x[0], -1), np.median(x[1], -1)), values):
            yield Bound("at the end, times the reference", *numbers, self.ratio)


@dataclass(frozen=True)
class Stable(Along):
    """The means differ by at most a share of their average, from the smallest to the largest."""

    share: float = option(0.05, low=0, open_low=True, help="the share")
    leave_out: tuple[float, ...] = option((), help="values of the parameter that do not count")

    def bounds(self, curve: Sequence[CellRecord], metric: str) -> Iterator[Bound]:
        kept = [row for row in curve if float(row.params[self.along]) not in self.leave_out]
        if len(kept) < 2:
            return
        if all(metric in row.detail.runs for row in kept):
            numbers = resampled(
                lambda x: np.ptp(x.mean(-1), axis=0) / np.abs(x.mean(-1).mean(0)), paired(*((row, metric) for row in kept))
            )
        else:
            once = np.array([row.metric(metric) or np.nan for row in kept])
            spread = float(np.ptp(once) / once.mean())
            numbers = None if np.isnan(spread) else (spread, max(spread - TIMED, 0.0), spread + TIMED)
        if numbers:
            yield Bound("spread of the means", *numbers, self.share, "at most", "%")


@dataclass(frozen=True)
class Settles(Along):
    """The spread over the repeats at the last value is at most a share of that at the first."""

    spread: Literal["variance", "band"] = option("variance", help=SPREAD_HELP)
    share: float = option(0.5, low=0, open_low=True, help="the share")
    side: ClassVar[Literal["at most", "above"]] = "at most"

    def bounds(self, curve: Sequence[CellRecord], metric: str) -> Iterator[Bound]:
        width = SPREADS[self.spread]
        if numbers := resampled(lambda x: width(x[1]) / width(x[0]), paired((curve[0], metric), (curve[-1], metric))):
            yield Bound(f"{self.spread}, last / first", *numbers, self.share, self.side)


@dataclass(frozen=True)
class Unsettled(Settles):
    """The spread over the repeats at the last value is more than a share of that at the first."""

    side = "above"


@dataclass(frozen=True)
class UShape(Along):
    """The metric falls and rises again: both ends lie above the lowest point between them.

    That point is chosen by the same numbers, so it is chosen anew in every draw that makes the interval.
    """

    def bounds(self, curve: Sequence[CellRecord], metric: str) -> Iterator[Bound]:
        inner = curve[1:-1]
        if not inner:
            return
        everywhere = paired(*((row, metric) for row in curve))
        if not everywhere.shape[1]:
            return
        lowest = 1 + int(np.argmin(everywhere[1:-1].mean(1)))
        scale = abs(float(everywhere[lowest].mean())) or 1.0
        at = f"{curve[lowest].params[self.along]}"
        for end, word in ((0, "first"), (-1, "last")):
            numbers = resampled(lambda x, end=end: x[end].mean(-1) - x[1:-1].mean(-1).min(0), everywhere)  # type: ignore[misc]
            if numbers:
                yield Bound(f"{word} above {at} by", *numbers, 0.0, "above", metric, scale)


@dataclass(frozen=True)
class NeedsLess(Check):
    """The first value at which a curve comes a share of the way between two references is lower than that of other curves.

    The way is measured by the medians over the repeats, and the value by a line between two points on a logarithmic axis.
    """

    along: str = option("dataset.n", help="the parameter")
    against: dict[str, Any] = option({}, help="the curves that are compared with")
    start: str = option("reference/mean_predictor/", help="where the way begins")
    goal: str = option("reference/no_privacy/", help="where it ends")
    share: float = option(0.5, low=0, high=1, open_low=True, open_high=True, help="how much of it must be gone")

    needs = ("against",)

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        for first, other in paired_curves(rows, self.cells, self.against, self.along):
            apart = (self.along, *self.against)
            compared = versus(first[0], other[0], self.against)
            yield Finding(place(first[0], apart), (*first, *other), tuple(self._bounds(first, other)), compared)

    def _bounds(self, first: Sequence[CellRecord], other: Sequence[CellRecord]) -> Iterator[Bound]:
        names = [self._named(row) for row in (*first, *other)]
        values = paired(*(pair for three in names for pair in three))
        grids = [np.log([float(row.params[self.along]) for row in curve]) for curve in (first, other)]

        def reached(x: np.ndarray) -> list[np.ndarray]:
            value, start, goal = np.median(x, -1).reshape(len(names), 3, *x.shape[1:-1]).swapaxes(0, 1)
            gone = (value - start) / (goal - start) - self.share
            return [_crossing(grid, part) for grid, part in zip(grids, np.split(gone, [len(first)]), strict=True)]

        def ratio(x: np.ndarray) -> np.ndarray:
            own, beside = reached(x)
            both = np.isinf(own) & np.isinf(beside)
            return np.asarray(np.exp(np.where(both, np.nan, own) - np.where(both, 0.0, beside)))

        if not values.shape[1]:
            return
        own, beside = (float(np.exp(one)) for one in reached(values))
        if numbers := resampled(ratio, values):
            texts = ["never in the grid" if np.isinf(one) else f"{one:.3g}" for one in (own, beside)]
            yield Bound(f"reached at {texts[0]} against {texts[1]}, ratio", *numbers, 1.0)

    def _named(self, row: CellRecord) -> tuple[tuple[CellRecord, str], ...]:
        metric = self.metric_of(row)
        return (row, metric), (row, reference_of(self.start, metric)), (row, reference_of(self.goal, metric))


@dataclass(frozen=True)
class Widens(Check):
    """The others' mean is more times its own at the last value of a parameter than at the first."""

    along: str = option("epsilon", help="the parameter")
    against: dict[str, Any] = option({}, help="the curves that are compared with")

    needs = ("against",)

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        for first, other in paired_curves(rows, self.cells, self.against, self.along):
            metric = self.metric_of(first[0])
            ends = [curve[end] for end in (0, -1) for curve in (first, other)]
            same = [row.params[self.along] for row in ends]
            if same[0] != same[1] or same[2] != same[3]:
                continue
            values = paired(*((row, metric) for row in ends))
            numbers = resampled(lambda x: times(times(x[3].mean(-1), x[2].mean(-1)), times(x[1].mean(-1), x[0].mean(-1))), values)
            bounds = (Bound("the ratio grows by the factor", *numbers, 1.0, "above"),) if numbers else ()
            compared = versus(first[0], other[0], self.against)
            yield Finding(place(first[0], (self.along, *self.against)), tuple(ends), bounds, compared)


def _crossing(grid: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Where a curve first comes from below zero to above it, on a line between two points; infinite where it never does."""
    reached = over >= 0
    at = reached.argmax(0)
    before = np.maximum(at - 1, 0)
    high, low = (np.take_along_axis(over, index[None], 0)[0] for index in (at, before))
    step = np.where(high > low, high - low, 1.0)
    inside = grid[before] + (grid[at] - grid[before]) * np.where(at > 0, -low / step, 0.0)
    return np.asarray(np.where(reached.any(0), inside, np.inf))
