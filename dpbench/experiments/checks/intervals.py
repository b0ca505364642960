"""Evidence for a claim: numbers with a 95 % interval, each against the limit that the claim sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbench.records.cell_record import CellRecord
from dpbench.report.statistics.paired import compare, means
from dpbench.report.statistics.signed_rank import shift

FEWEST = 6
"""Fewer repeats than this decide nothing by resampling: even Wilcoxon's test cannot reach 5 % with five."""
RESAMPLES = 2000
TIMED = 0.2
"""A number that a cell has once, as its timing, has no interval: this share of it is taken on either side."""

Numbers = tuple[float, float, float]
"""A value, and the low and high end of its 95 % interval; infinite ends where nothing can be said."""


@dataclass(frozen=True)
class Bound:
    """A number with its interval, and on which side of the limit it must lie."""

    what: str
    value: float
    low: float
    high: float
    limit: float
    side: Literal["at most", "below", "above"] = "at most"
    unit: str = ""
    """%: the numbers are shares; a metric: they are differences in its own unit. Both are shown with their sign."""
    scale: float = 1.0
    """What a difference in a metric's own unit is divided by, to tell which place speaks most against the claim."""
    beside: str = ""
    """What helps to read the numbers: the levels that differ."""

    @property
    def holds(self) -> bool | None:
        """None where the interval contains the limit."""
        if not self.low <= self.high:
            return None
        if self.side == "at most":
            return True if self.high <= self.limit else False if self.low > self.limit else None
        if self.side == "below":
            return True if self.high < self.limit else False if self.low >= self.limit else None
        return True if self.low > self.limit else False if self.high <= self.limit else None

    @property
    def slack(self) -> float:
        """How far the value lies on the right side of the limit: the smaller, the worse for the claim."""
        gap = (self.value - self.limit if self.side == "above" else self.limit - self.value) / self.scale
        return gap if math.isfinite(gap) else math.copysign(1e9, gap) if not math.isnan(gap) else -1e9

    def __str__(self) -> str:
        value, low, high = (self._text(number) for number in (self.value, self.low, self.high))
        interval = f"{low} to {high}" if math.isfinite(self.low) or math.isfinite(self.high) else "too few repeats"
        return f"{self.what} {value}{' %' if self.unit == '%' else ''} ({interval}{f'; {self.beside}' if self.beside else ''})"

    def _text(self, number: float) -> str:
        if math.isinf(number):
            return "∞" if number > 0 else "-∞"
        if self.unit == "%":
            return f"{100 * number:+.3g}"
        return f"{number:+.3g}" if self.unit else f"{number:.4g}"


@dataclass(frozen=True)
class Finding:
    """What one place says about a claim."""

    place: str
    cells: tuple[CellRecord, ...]
    bounds: tuple[Bound, ...]
    compared: str = ""
    """What was compared with what, where it is more than one cell's own numbers."""

    @property
    def holds(self) -> bool | None:
        """All of its bounds must; None where they leave it open, or there is none."""
        said = [bound.holds for bound in self.bounds]
        return False if False in said else True if said and None not in said else None

    @property
    def slack(self) -> float:
        return min((bound.slack for bound in self.bounds), default=0.0)

    def __str__(self) -> str:
        numbers = ", ".join(dict.fromkeys(map(str, self.bounds))) or "nothing to compare by"
        return f"{self.place}{f', {self.compared}' if self.compared else ''}: {numbers}"


def contrast(
    what: str, first: CellRecord, other: CellRecord, metric: str, side: Literal["below", "above"], confidence: float = 0.95
) -> Bound | None:
    """How far the first lies from the other, in the metric's own unit, paired over the repeats that both have.

    No share of a level: the middle of the differences is not the difference of the middles, and can exceed either.
    """
    said = f"{metric.rpartition('/')[2]} {what}"
    if metric not in first.detail.runs or metric not in other.detail.runs:
        share = _single(first, other, metric)
        return Bound(said, *share, 0.0, side, "%") if share else None
    found = compare(first, other, metric)
    if found is None:
        return None
    levels = [float(np.median(list(means(row, metric).values()))) for row in (first, other)]
    value, low, high = shift(found.differences, confidence)  # the other less the first
    medians = f"medians {levels[0]:.3g} against {levels[1]:.3g}"
    return Bound(said, -value, -high, -low, 0.0, side, metric, abs(levels[1]) or 1.0, medians)


def _single(first: CellRecord, other: CellRecord, metric: str) -> Numbers | None:
    """A timing against another, as a share of it; its margin is a factor, so that nothing falls by more than all of it."""
    own, beside = first.metric(metric), other.metric(metric)
    if own is None or beside is None or not own > 0 or not beside > 0:
        return None
    return own / beside - 1, own / beside / (1 + TIMED) - 1, own / beside * (1 + TIMED) - 1


def times(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """How many times the whole the part is; not a number where the whole is not positive, as a log-likelihood may be."""
    return np.asarray(np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan))


def paired(*cells: tuple[CellRecord, str]) -> np.ndarray:
    """The repeats' means of each cell's metric, one row a cell, over the repeats that all of them have."""
    found = [means(row, metric) for row, metric in cells]
    common = sorted(set.intersection(*(set(one) for one in found)))
    values = np.array([[one[repeat] for repeat in common] for one in found], dtype=float).reshape(len(cells), len(common))
    return np.asarray(values[:, np.isfinite(values).all(axis=0)])


def ratio_of_means(values: np.ndarray) -> Numbers | None:
    """The first row's mean over the second's, by Student's t on what the ratio leaves over in each repeat."""
    from scipy.stats import t

    repeats = values.shape[1]
    if not repeats or not values[1].mean() > 0:
        return None
    ratio = float(values[0].mean() / values[1].mean())
    if repeats < 2:
        return ratio, -math.inf, math.inf
    error = float((values[0] - ratio * values[1]).std(ddof=1) / math.sqrt(repeats) / values[1].mean())
    half = float(t.ppf(0.975, repeats - 1)) * error
    return ratio, ratio - half, ratio + half


def resampled(statistic: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> Numbers | None:
    """A statistic of all cells over the repeats (the last axis), with its percentile interval when repeats are drawn again.

    The draws are the same every time, so that the same records give the same verdict.
    """
    repeats = values.shape[-1]
    if not repeats:
        return None
    with np.errstate(all="ignore"):
        value = float(statistic(values))
        if math.isnan(value):
            return None
        if repeats < FEWEST:
            return value, -math.inf, math.inf
        drawn = np.random.default_rng(0).integers(repeats, size=(RESAMPLES, repeats))
        many = statistic(values[:, drawn])
    many = many[~np.isnan(many)]
    # order statistics, not interpolated: some draws are infinite where a curve never arrives
    low, high = np.quantile(many, [0.025, 0.975], method="nearest") if len(many) else (-math.inf, math.inf)
    return value, float(low), float(high)


def synthetic(rows: Sequence[CellRecord]) -> list[str]:
    """The datasets of these cells, each with what is said of made-up rows."""
    told = {row.params["dataset"]: row.synthetic for row in rows}
    return [f"{name} (SYNTHETIC)" if drawn else name for name, drawn in told.items()]
