"""The checks that compare cells with others at the same place, and those about a cell's own numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.experiments.checks.cell_selection import named, pairs, picked, place
from dpbench.experiments.checks.check import SPREAD_HELP, SPREADS, Check, name_of, reference_of, versus
from dpbench.experiments.checks.intervals import (
    TIMED,
    Bound,
    Finding,
    Numbers,
    contrast,
    paired,
    ratio_of_means,
    resampled,
    times,
)
from dpbench.records.cell_record import CellRecord
from dpbench.report.figures.naming import reference


@dataclass(frozen=True)
class Pairwise(Check):
    """Cells against others at the same place."""

    against: dict[str, Any] = option({}, help="the cells they are compared with")

    needs = ("against",)

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        for first, other in pairs(rows, self.cells, self.against):
            metric = self.metric_of(first)
            compared = versus(first, other, self.against)
            yield Finding(place(first, tuple(self.against)), (first, other), tuple(self.bounds(first, other, metric)), compared)

    @abstractmethod
    def bounds(self, first: CellRecord, other: CellRecord, metric: str) -> Iterator[Bound]: ...


@dataclass(frozen=True)
class Below(Pairwise):
    """The metric is lower than that of each of the others: paired over the repeats, by the signed ranks."""

    def bounds(self, first: CellRecord, other: CellRecord, metric: str) -> Iterator[Bound]:
        if bound := contrast("differs by", first, other, metric, "below"):
            yield bound


@dataclass(frozen=True)
class Above(Pairwise):
    """The metric is higher than that of each of the others."""

    def bounds(self, first: CellRecord, other: CellRecord, metric: str) -> Iterator[Bound]:
        if bound := contrast("differs by", first, other, metric, "above"):
            yield bound


@dataclass(frozen=True)
class Between(Check):
    """The metric lies above that of some cells, and below that of others at the same place."""

    over: dict[str, Any] = option({}, help="the cells it must lie above")
    under: dict[str, Any] = option({}, help="the cells it must lie below")

    needs = ("over", "under")

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        sides = (Above(self.cells, self.metric, self.over), Below(self.cells, self.metric, self.under))
        found = [list(side.find(rows)) for side in sides]
        for low in found[0]:
            beside = [high for high in found[1] if high.cells[0] is low.cells[0]]
            if beside:
                parts = [low, *beside]
                bounds = tuple(replace(b, what=f"from {named(one.cells[1])} by") for one in parts for b in one.bounds)
                whole = bounds if all(one.bounds for one in parts) else ()
                cells = (*low.cells, *(one.cells[1] for one in beside))
                yield Finding(low.place, cells, whole, named(low.cells[0]))


@dataclass(frozen=True)
class Within(Check):
    """The mean is at most so many times that of other cells, or of another metric of the same cell."""

    against: dict[str, Any] = option({}, help="the cells it is compared with")
    reference: str = option("", help="or the beginning of a metric of the same cell: reference/no_privacy/, or a whole one")
    ratio: float = option(1.05, low=0, open_low=True, help="how many times the other's mean it may be")

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.against) == bool(self.reference):
            raise Refused(f"The check {name_of(type(self))} needs one of 'against' and 'reference', and not both.")

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        if self.reference:
            for row in picked(rows, self.cells):
                metric, other = self.metric_of(row), reference_of(self.reference, self.metric_of(row))
                numbers = ratio_of_means(paired((row, metric), (row, other)))
                bounds = tuple(self.bounds(numbers)) if numbers else ()
                yield Finding(place(row), (row,), bounds, f"{named(row)} against {reference(other)}")
            return
        for first, beside in pairs(rows, self.cells, self.against):
            metric = self.metric_of(first)
            numbers = ratio_of_means(paired((first, metric), (beside, metric)))
            compared = versus(first, beside, self.against)
            where = place(first, tuple(self.against))
            yield Finding(where, (first, beside), tuple(self.bounds(numbers)) if numbers else (), compared)

    def bounds(self, numbers: Numbers) -> Iterator[Bound]:
        yield Bound("ratio", *numbers, self.ratio)


@dataclass(frozen=True)
class Near(Within):
    """The mean is neither more than so many times that of the other, nor less than the same part of it."""

    def bounds(self, numbers: Numbers) -> Iterator[Bound]:
        yield Bound("ratio", *numbers, self.ratio)
        yield Bound("ratio", *numbers, 1 / self.ratio, "above")


@dataclass(frozen=True)
class Faster(Pairwise):
    """The others take so many times as long. A timing has no interval: 20 % is allowed on either side."""

    metric: tuple[str, ...] = option(("time/fit_seconds",), help="the time")
    times: float = option(1.0, low=0, open_low=True, help="how many times as long the others must take")

    def bounds(self, first: CellRecord, other: CellRecord, metric: str) -> Iterator[Bound]:
        own, beside = first.metric(metric), other.metric(metric)
        if own and beside:
            yield Bound("times", beside / own, beside / own / (1 + TIMED), beside / own * (1 + TIMED), self.times, "above")


@dataclass(frozen=True)
class Wider(Pairwise):
    """The error spreads more over the repeats than that of each of the others."""

    spread: Literal["variance", "band"] = option("variance", help=SPREAD_HELP)
    times: float = option(1.0, low=0, open_low=True, help="how many times as wide it must be")

    def bounds(self, first: CellRecord, other: CellRecord, metric: str) -> Iterator[Bound]:
        width = SPREADS[self.spread]
        if numbers := resampled(lambda x: width(x[0]) / width(x[1]), paired((first, metric), (other, metric))):
            yield Bound(f"{self.spread} times", *numbers, self.times, "above")


@dataclass(frozen=True)
class Skewed(Check):
    """The mean over the repeats is so many times the median."""

    times: float = option(1.5, low=1, help="how many times the median the mean must be")

    def find(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        for row in picked(rows, self.cells):
            values = paired((row, self.metric_of(row)))
            numbers = resampled(lambda x: times(x[0].mean(-1), np.median(x[0], -1)), values)
            yield Finding(
                place(row), (row,), (Bound("mean / median", *numbers, self.times, "above"),) if numbers else (), named(row)
            )
