"""The bases of all checks, and the findings they answer with: numbers with a 95 % interval against the limit that a claim sets.

A check is a frozen dataclass whose fields are the options that a claim's YAML sets. It knows parameters and metrics, and no
mechanism.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from dpbench.base.errors import Refused
from dpbench.base.options import check_options, option
from dpbench.experiments.checks.cell_selection import Curve, curves, mechanism_of, pairs, place_of
from dpbench.records.cell_record import CellRecord

Numbers = tuple[float, float, float]
"""A value, and the low and high end of its 95 % interval; the ends are infinite where nothing can be said."""

Side = Literal["at most", "below", "above"]


@dataclass(frozen=True)
class Bound:
    """A number with its interval, and on which side of the limit it must lie."""

    what: str
    value: float
    low: float
    high: float
    limit: float
    side: Side = "at most"
    unit: str = ""
    """%: the numbers are shares; a metric: they are differences in its unit. Both are shown with their sign."""
    scale: float = 1.0
    """Divides a difference in a metric's own unit, so that places can be ordered by how much they speak against the claim."""
    context: str = ""
    """What helps to read the numbers: the two levels that differ."""

    @property
    def holds(self) -> bool | None:
        """None where the interval contains the limit."""
        holds, fails = {
            "at most": (self.high <= self.limit, self.low > self.limit),
            "below": (self.high < self.limit, self.low >= self.limit),
            "above": (self.low > self.limit, self.high <= self.limit),
        }[self.side]
        return holds if self.low <= self.high and holds is not fails else None

    @property
    def slack(self) -> float:
        """How far the value lies on the right side of the limit: the smaller, the worse for the claim."""
        gap = (self.value - self.limit if self.side == "above" else self.limit - self.value) / self.scale
        return gap if math.isfinite(gap) else math.copysign(1e9, gap) if not math.isnan(gap) else -1e9

    def __str__(self) -> str:
        value, low, high = (self._text(number) for number in (self.value, self.low, self.high))
        interval = f"{low} to {high}" if math.isfinite(self.low) or math.isfinite(self.high) else "too few repeats"
        return f"{self.what} {value}{' %' if self.unit == '%' else ''} ({interval}{f'; {self.context}' if self.context else ''})"

    def _text(self, number: float) -> str:
        if math.isinf(number):
            return "∞" if number > 0 else "-∞"
        if self.unit == "%":
            return f"{100 * number:+.3g}"
        return f"{number:+.3g}" if self.unit else f"{number:.4g}"


def bounded(
    what: str, numbers: Numbers | None, limit: float, side: Side = "at most", unit: str = "", scale: float = 1.0
) -> tuple[Bound, ...]:
    """Return the numbers as one bound, or no bound where there are no numbers."""
    return (Bound(what, *numbers, limit, side, unit, scale),) if numbers else ()


@dataclass(frozen=True)
class Finding:
    """A finding is what one place says about a claim."""

    place: str
    cells: tuple[CellRecord, ...]
    bounds: tuple[Bound, ...]
    compared: str = ""
    """What was compared with what; the mechanism alone where a cell's own numbers decide."""
    remark: str = ""
    """What the answer depends on: the last value of the grid."""
    precondition: "Finding | None" = None
    """The finding of the claim's precondition, where that does not hold or is not decided."""

    @property
    def testable(self) -> bool:
        """Whether the precondition leaves it open that this place can decide the claim."""
        return self.precondition is None or self.precondition.holds is not False

    @property
    def synthetic(self) -> bool:
        """Whether any of its cells rests on rows that were drawn and not collected."""
        return any(row.synthetic for row in self.cells)

    @property
    def holds(self) -> bool | None:
        """True if all bounds hold, False if one does not, None where they or the precondition leave it open, or there is none."""
        if self.precondition is not None:
            return None
        answers = [bound.holds for bound in self.bounds]
        return False if False in answers else True if answers and None not in answers else None

    @property
    def slack(self) -> float:
        return min((bound.slack for bound in self.bounds), default=0.0)

    def __str__(self) -> str:
        numbers = ", ".join(dict.fromkeys(map(str, self.bounds))) or "nothing to compare by"
        remark = f"; {self.remark}" if self.remark else ""
        return f"{self.place}{f', {self.compared}' if self.compared else ''}: {numbers}{remark}"

    def with_remark(self, remark: str) -> "Finding":
        return replace(self, remark=remark)


Group = tuple[Sequence[Curve], str, Sequence[str]]
"""The curves that a finding is about, what it compares, and the parameters in which the cells differ: no part of the place."""


@dataclass(frozen=True)
class Check:
    """A check asks something of the records at every place, and answers with findings."""

    cells: dict[str, Any] = option({}, help="the cells that the claim is about, by their parameters")
    metric: tuple[str, ...] = option((), help="the metric, or several: a cell takes the first it has; empty: its primary one")

    required: ClassVar[tuple[str, ...]] = ()
    """The options that cannot be left out."""
    bounds: ClassVar[Callable[..., tuple[Bound, ...]]]
    """A check's method ``bounds(metric, *curves)``: what is asked of the curves, as numbers against limits."""
    along = ""
    """The parameter that orders the cells of a curve: an option of :class:`Along`. Elsewhere every cell is a curve of its own."""

    def __post_init__(self) -> None:
        check_options(self, f"the check {name_of(type(self))}")
        for name in self.required:
            if not getattr(self, name):
                raise Refused(f"The check {name_of(type(self))} needs the option {name!r}. Got nothing instead.")

    def findings(self, rows: Sequence[CellRecord]) -> Iterator[Finding]:
        """Yield a finding for every place that these cells have."""
        yield from map(self.finding, self.groups(rows))

    def finding(self, group: Group) -> Finding:
        """Return what the curves of one place say."""
        curves, compared, without = group
        cells = tuple(row for curve in curves for row in curve)
        return Finding(place_of(cells[0], without), cells, self.bounds(self.metric_of(cells[0]), *curves), compared)

    def groups(self, rows: Sequence[CellRecord]) -> Iterator[Group]:
        """Yield the curves of each finding: here one."""
        for curve in curves(rows, self.cells, self.along):
            yield (curve,), mechanism_of(curve[0], (self.along,)), (self.along,)

    def metric_of(self, row: CellRecord) -> str:
        """Return the metric that is compared: the first of the check's that the cell has, or its primary one."""
        for name in self.metric:
            if row.metric(name) is not None:
                return name
        return self.metric[0] if self.metric else f"utility/{row.primary}"


@dataclass(frozen=True)
class Pairwise(Check):
    """Cells or curves are compared with others at the same place."""

    against: dict[str, Any] = option({}, help="the cells they are compared with")

    required: ClassVar[tuple[str, ...]] = ("against",)

    def groups(self, rows: Sequence[CellRecord]) -> Iterator[Group]:
        for first, other in pairs(rows, self.cells, self.against, self.along):
            yield (first, other), describe_pair(first[0], other[0], self.against), (self.along, *self.against)


@dataclass(frozen=True)
class Along(Check):
    """Cells are taken in the order of one parameter."""

    along: str = option("epsilon", help="the parameter: only cells with a number there count")


def name_of(check: type[Check]) -> str:
    """Return a check's name in claims: the words of its class, with underscores."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", check.__name__.replace("UShape", "uShape")).lower()


def reference_metric(reference: str, metric: str) -> str:
    """Return a whole metric as it is; to the beginning of one, which ends with a slash, add the metric's last word."""
    return reference + metric.rpartition("/")[2] if reference.endswith("/") else reference


def describe_pair(first: CellRecord, other: CellRecord, against: Mapping[str, Any]) -> str:
    """Name two cells by their mechanisms, and by their models too where models are compared."""
    models = [f" {row.params['model']}" if "model" in against else "" for row in (first, other)]
    return f"{mechanism_of(first)}{models[0]} against {mechanism_of(other)}{models[1]}"
