"""The checks that compare cells with others at the same place, and those about a cell's own numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.experiments.checks import intervals
from dpbench.experiments.checks.cell_selection import Curve, mechanism_of, select_cells
from dpbench.experiments.checks.check import Bound, Check, Finding, Group, Numbers, Pairwise, bounded, name_of, reference_metric
from dpbench.records.budget_free import spread
from dpbench.records.cell_record import CellRecord
from dpbench.report.labels import reference


@dataclass(frozen=True)
class Below(Pairwise):
    """The metric is lower than that of each of the others: paired over the repeats, by the signed ranks."""

    side: ClassVar[Literal["below", "above"]] = "below"

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        return intervals.difference("differs by", first[0], other[0], metric, self.side)


@dataclass(frozen=True)
class Above(Below):
    """The metric is higher than that of each of the others."""

    side = "above"


@dataclass(frozen=True)
class Between(Check):
    """The metric lies above that of some cells, and below that of others at the same place."""

    over: dict[str, Any] = option({}, help="the cells it must lie above")
    under: dict[str, Any] = option({}, help="the cells it must lie below")

    required: ClassVar[tuple[str, ...]] = ("over", "under")

    def findings(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        rows = spread(rows)  # once, because the two comparisons meet at the same cell
        upper = list(Below(self.cells, self.metric, self.under).findings(rows))
        for low in Above(self.cells, self.metric, self.over).findings(rows):
            parts = [low, *(high for high in upper if high.cells[0] is low.cells[0])]
            if len(parts) > 1:
                bounds = [replace(b, what=f"from {mechanism_of(part.cells[1])} by") for part in parts for b in part.bounds]
                complete = all(part.bounds for part in parts)
                cells = (low.cells[0], *(part.cells[1] for part in parts))
                yield Finding(low.place, cells, tuple(bounds) if complete else (), mechanism_of(low.cells[0]))


@dataclass(frozen=True)
class TradesOff(Below):
    """The metric is lower than that of each of the others, and another metric is higher: neither cell is better at both."""

    loses: tuple[str, ...] = option((), help="the metric that is higher, or several: a cell takes the first it has")

    required: ClassVar[tuple[str, ...]] = ("against", "loses")

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        lower = super().bounds(metric, first, other)
        higher = Above(self.cells, self.loses, self.against)
        return lower + higher.bounds(higher.metric_of(first[0]), first, other) if lower else ()


@dataclass(frozen=True)
class Referenced(Pairwise):
    """The base of checks that compare a mean with that of other cells, or of another metric of the same cell."""

    reference: str = option("", help="or the beginning of a metric of the same cell: reference/no_privacy/, or a whole one")

    required: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.against) == bool(self.reference):
            raise Refused(f"The check {name_of(type(self))} needs one of 'against' and 'reference', and not both.")

    def groups(self, rows: Sequence[CellRecord]) -> Iterator[Group]:
        if self.against:
            yield from super().groups(rows)
        else:
            for row in select_cells(rows, self.cells):
                other = reference_metric(self.reference, self.metric_of(row))
                yield ([row],), f"{mechanism_of(row)} against {reference(other)}", ()

    def values(self, metric: str, first: Curve, *others: Curve) -> np.ndarray:
        """Return the repeats' means of the metric, and of what it is compared with, as two rows."""
        other = (others[0][0], metric) if others else (first[0], reference_metric(self.reference, metric))
        return intervals.paired_means((first[0], metric), other)


@dataclass(frozen=True)
class Exceeds(Referenced):
    """The mean is higher than that of other cells, or of another metric of the same cell, by at least ``by``, in its own unit."""

    by: float = option(0.0, low=0, help="how much higher it must be")

    def bounds(self, metric: str, first: Curve, *others: Curve) -> tuple[Bound, ...]:
        values = self.values(metric, first, *others)
        numbers = intervals.resampled(lambda x: np.asarray(x[0].mean(-1) - x[1].mean(-1)), values)
        return bounded(f"{metric.rpartition('/')[2]} higher by", numbers, self.by, "above", metric)


@dataclass(frozen=True)
class Within(Referenced):
    """The mean, or the median, is at most ``ratio`` times that of other cells, or of another metric of the same cell."""

    ratio: float = option(1.05, low=0, open_low=True, help="how many times the other's mean it may be")
    statistic: Literal["mean", "median"] = option("mean", help="of the runs' numbers; single runs can decide a mean")

    def bounds(self, metric: str, first: Curve, *others: Curve) -> tuple[Bound, ...]:
        values = self.values(metric, first, *others)
        if self.statistic == "mean":
            return self.limits(intervals.ratio_of_means(values))
        return self.limits(intervals.resampled(lambda x: intervals.positive_ratio(*np.median(x, -1)), values))

    def limits(self, numbers: Numbers | None) -> tuple[Bound, ...]:
        """Return the ratio against its limits."""
        return bounded("ratio", numbers, self.ratio)


@dataclass(frozen=True)
class Near(Within):
    """The mean, or the median, is at most ``ratio`` times that of the other, and at least its ``ratio``-th part."""

    def limits(self, numbers: Numbers | None) -> tuple[Bound, ...]:
        return bounded("ratio", numbers, self.ratio) + bounded("ratio", numbers, 1 / self.ratio, "above")


@dataclass(frozen=True)
class Faster(Pairwise):
    """The others take ``times`` as long. A timing has no interval: 20 % is allowed on either side."""

    metric: tuple[str, ...] = option(("time/fit_seconds",), help="the time")
    times: float = option(1.0, low=0, open_low=True, help="how many times as long the others must take")

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        return bounded("times", intervals.timing_ratio(other[0], first[0], metric), self.times, "above")


@dataclass(frozen=True)
class Wider(Pairwise):
    """The error spreads more over the repeats than that of each of the others."""

    spread: Literal["variance", "band"] = option("variance", help=intervals.SPREAD_HELP)
    times: float = option(1.0, low=0, open_low=True, help="how many times as wide it must be")

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        numbers = intervals.spread_ratio(self.spread, first[0], other[0], metric)
        return bounded(f"{self.spread} times", numbers, self.times, "above")


@dataclass(frozen=True)
class Skewed(Check):
    """The mean over the repeats is ``times`` the median."""

    times: float = option(1.5, low=1, help="how many times the median the mean must be")

    def bounds(self, metric: str, single: Curve) -> tuple[Bound, ...]:
        values = intervals.paired_means((single[0], metric))
        numbers = intervals.resampled(lambda x: intervals.positive_ratio(x[0].mean(-1), np.median(x[0], -1)), values)
        return bounded("mean / median", numbers, self.times, "above")


@dataclass(frozen=True)
class InRange(Check):
    """The mean over the repeats lies between two numbers."""

    low: float | None = option(None, help="it must be above this")
    high: float | None = option(None, help="it must be at most this")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low is None and self.high is None:
            raise Refused("The check in_range needs 'low', 'high' or both. Got neither.")

    def bounds(self, metric: str, single: Curve) -> tuple[Bound, ...]:
        numbers, name = intervals.mean_with_interval(single[0], metric), metric.rpartition("/")[2].replace("_", " ")
        below = () if self.high is None else bounded(name, numbers, self.high)
        return below if self.low is None else bounded(name, numbers, self.low, "above") + below


CHECKS = (Below, Above, Between, TradesOff, Exceeds, Within, Near, Faster, Wider, Skewed, InRange)
