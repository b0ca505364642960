"""Findings: what one place says about a claim, as numbers with a 95 % interval against the limit that the claim sets."""

import math
from dataclasses import dataclass
from typing import Literal

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

    @property
    def holds(self) -> bool | None:
        """True if all bounds hold, False if one does not, None where they leave it open or there is none."""
        answers = [bound.holds for bound in self.bounds]
        return False if False in answers else True if answers and None not in answers else None

    @property
    def slack(self) -> float:
        return min((bound.slack for bound in self.bounds), default=0.0)

    def __str__(self) -> str:
        numbers = ", ".join(dict.fromkeys(map(str, self.bounds))) or "nothing to compare by"
        return f"{self.place}{f', {self.compared}' if self.compared else ''}: {numbers}"
