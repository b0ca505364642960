"""The checks about trends: what a curve does over the whole range of a parameter, rather than at its two ends.

The trend is the least-squares line through all values, over the logarithm of the parameter. One value moves it little, yet a
curve that is level over a part of the range still has a trend (the median of all slopes, Theil and Sen's line, would be zero).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from dpbench.base.options import option
from dpbench.experiments.checks import intervals
from dpbench.experiments.checks.cell_selection import Curve
from dpbench.experiments.checks.check import Along, Bound, Finding, Group, Numbers, Pairwise, bounded, reference_metric
from dpbench.records.cell_record import CellRecord
from dpbench.report.labels import setting

ANSWERS = {True: "it holds", False: "it does not hold", None: "it is not decided"}


@dataclass(frozen=True)
class Trend(Along):
    """The base of checks whose answer may depend on where the grid ends: each finding says if it does."""

    def finding(self, group: Group) -> Finding:
        finding = super().finding(group)
        return finding.with_remark(self.dependence_on_the_end(group, finding.holds))

    def dependence_on_the_end(self, group: Group, answer: bool | None) -> str:
        """Say what the answer would be without the last value of the parameter, if it would be another one."""
        curves = group[0]
        last = max((row for curve in curves for row in curve), key=lambda row: float(row.params[self.along]))
        value = last.params[self.along]
        shorter = [[row for row in curve if row.params[self.along] != value] for curve in curves]
        if min(map(len, shorter)) < 2:
            return ""
        other = Finding("", (), self.bounds(self.metric_of(last), *shorter)).holds
        return "" if other is answer else f"without {setting(self.along, value)} {ANSWERS[other]}"


@dataclass(frozen=True)
class Falls(Trend):
    """The metric falls along the trend, and no step between two values is a rise that noise does not explain."""

    side: ClassVar[Literal["below", "above"]] = "below"

    def bounds(self, metric: str, cells: Curve) -> tuple[Bound, ...]:
        whole = intervals.change_along("changes by", cells, self.along, metric, self.side)
        confidence = 1 - 0.05 / (len(cells) - 1)  # Bonferroni, over the steps
        pairs = pairwise(cells) if whole and len(cells) > 2 else ()
        what = "changes in one step by"
        steps = (intervals.difference(what, after, before, metric, self.side, confidence) for before, after in pairs)
        # a step of exactly zero goes nowhere, so it is no step back
        wrong = [step for (step,) in filter(None, steps) if step.holds is False and (step.low > 0 or step.high < 0)]
        return (*whole, *sorted(wrong, key=lambda step: step.slack)[:1])


@dataclass(frozen=True)
class Rises(Falls):
    """The metric rises along the trend, and no step between two values is a fall that noise does not explain."""

    side = "above"


@dataclass(frozen=True)
class Approaches(Trend):
    """The ratio of the median to that of a reference falls along the trend, and is at most ``ratio`` at the last value.

    Single steps may go either way: a curve that is level at first wanders with its noise.
    """

    reference: str = option("reference/no_privacy/", help="the beginning of the reference's metric")
    ratio: float = option(1.05, low=1, help="how many times the reference's median it may be at the end")

    def bounds(self, metric: str, cells: Curve) -> tuple[Bound, ...]:
        other = reference_metric(self.reference, metric)
        values = intervals.paired_means(*((row, name) for name in (metric, other) for row in cells))

        def ratios(x: np.ndarray) -> np.ndarray:
            """Return the ratio of the medians in each cell."""
            own, goal = np.split(np.median(x, -1), 2)
            return intervals.positive_ratio(own, goal)

        along = intervals.positions(cells, self.along)
        trend = intervals.resampled(lambda x: intervals.factor_along(along, ratios(x)), values)
        end = intervals.resampled(lambda x: ratios(x)[-1], values)
        what = "times the reference, last / first along the trend"
        return bounded(what, trend, 1.0, "below") + bounded("at the end, times the reference", end, self.ratio)


@dataclass(frozen=True)
class Settles(Trend):
    """The spread over the repeats falls along the trend to at most a share of what it is at the first value."""

    spread: Literal["variance", "band"] = option("variance", help=intervals.SPREAD_HELP)
    share: float = option(0.5, low=0, open_low=True, help="the share")
    side: ClassVar[Literal["at most", "above"]] = "at most"

    def bounds(self, metric: str, cells: Curve) -> tuple[Bound, ...]:
        along, width = intervals.positions(cells, self.along), intervals.SPREADS[self.spread]
        values = intervals.paired_means(*((row, metric) for row in cells))
        numbers = intervals.resampled(lambda x: intervals.factor_along(along, width(x)), values)
        return bounded(f"{self.spread}, last / first along the trend", numbers, self.share, self.side)


@dataclass(frozen=True)
class Unsettled(Settles):
    """Along the trend, more than a share of the spread at the first value is left at the last."""

    side = "above"


@dataclass(frozen=True)
class GrowsFaster(Pairwise, Trend):
    """Along the trend, the mean of a curve grows by a larger factor than that of each of the others."""

    def groups(self, rows: Sequence[CellRecord]) -> Iterator[Group]:
        for pair, compared, without in super().groups(rows):
            if len({tuple(row.params[self.along] for row in curve) for curve in pair}) == 1:
                yield pair, compared, without

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        return bounded("grows by times the factor", self.growth(metric, first, other), 1.0, "above")

    def growth(self, metric: str, first: Curve, other: Curve) -> Numbers | None:
        """Return the factor by which the first curve grows, over that of the other."""
        along = intervals.positions(first, self.along)
        if (times := intervals.timings((*first, *other), metric)) is not None:
            ratio = float(_ratio_of_growth(along, times))
            return None if np.isnan(ratio) else intervals.with_timing_margin(ratio)
        values = intervals.paired_means(*((row, metric) for row in (*first, *other)))
        return intervals.resampled(lambda x: _ratio_of_growth(along, x.mean(-1)), values)


@dataclass(frozen=True)
class Widens(GrowsFaster):
    """Along the trend, the ratio of the others' mean to its own grows."""

    def bounds(self, metric: str, first: Curve, other: Curve) -> tuple[Bound, ...]:
        return bounded("the ratio grows by the factor", self.growth(metric, other, first), 1.0, "above")


def _ratio_of_growth(along: np.ndarray, levels: np.ndarray) -> np.ndarray:
    first, other = np.split(levels, 2)
    return intervals.factor_along(along, intervals.positive_ratio(first, other))


CHECKS = (Falls, Rises, Approaches, Settles, Unsettled, GrowsFaster, Widens)
