"""Intervals over the repeats, for what claims compare: differences, ratios and statistics of cells."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from dpbench.experiments.checks.check import Bound, Numbers
from dpbench.records.cell_record import CellRecord
from dpbench.records.names import FAILED_SHARE
from dpbench.report.statistics.paired import means, paired_differences
from dpbench.report.statistics.signed_rank import shift

MIN_REPEATS = 6
"""Fewer repeats decide nothing by resampling: even Wilcoxon's test cannot reach 5 % with five."""
RESAMPLES = 2000
TIMING_MARGIN = 0.2
"""A number that a cell has once, such as a timing, has no interval: this share of it is allowed on either side."""


def difference(
    what: str, first: CellRecord, other: CellRecord, metric: str, side: Literal["below", "above"], confidence: float = 0.95
) -> tuple[Bound, ...]:
    """Return how far the first lies from the other, in the metric's own unit, paired over the repeats that both have.

    It is no share of a level: the median of the differences is not the difference of the medians, and can exceed either.
    """
    text = f"{metric.rpartition('/')[2]} {what}"
    if metric not in first.detail.runs or metric not in other.detail.runs:
        share = timing_ratio(first, other, metric)
        return (Bound(text, share[0] - 1, share[1] - 1, share[2] - 1, 0.0, side, "%"),) if share else ()
    if not (differences := paired_differences(first, other, metric)):
        return ()
    levels = [float(np.median(list(means(row, metric).values()))) for row in (first, other)]
    value, low, high = shift(differences, confidence)  # other minus first, so the ends swap with the sign
    medians = f"medians {levels[0]:.3g} against {levels[1]:.3g}"
    return (Bound(text, -value, -high, -low, 0.0, side, metric, abs(levels[1]) or 1.0, medians),)


def positions(cells: Sequence[CellRecord], along: str) -> np.ndarray:
    """Return where cells lie along a parameter: on a logarithmic axis if all of its values are positive."""
    values = np.array([float(row.params[along]) for row in cells])
    return np.log(values) if (values > 0).all() else values


def line_change(positions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how much the least-squares line through the values (first axis) changes from the first position to the last."""
    centred = positions - positions.mean()
    return np.asarray(np.ptp(positions) * np.tensordot(centred, values, 1) / (centred @ centred))


def factor_along(positions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return last / first along the power law through the values (first axis), NaN where one is not positive."""
    return np.asarray(np.exp(line_change(positions, np.log(np.where(values > 0, values, np.nan)))))


def change_along(
    what: str, cells: Sequence[CellRecord], along: str, metric: str, side: Literal["below", "above"]
) -> tuple[Bound, ...]:
    """Return the change of a metric along the line through all cells: the shift of the changes of each repeat's own line.

    With two cells it is their :func:`difference`.
    """
    text, where = f"{metric.rpartition('/')[2]} {what}", positions(cells, along)
    if (times := timings(cells, metric)) is not None:
        value, low, high = with_timing_margin(float(factor_along(where, times)))
        return (Bound(text, value - 1, low - 1, high - 1, 0.0, side, "%"),) if not math.isnan(value) else ()
    values = paired_means(*((row, metric) for row in cells))
    if not values.shape[1]:
        return ()
    first, last = (float(np.median(values[index])) for index in (0, -1))
    medians = f"medians {last:.3g} against {first:.3g}"
    return (Bound(text, *shift(line_change(where, values).tolist()), 0.0, side, metric, abs(first) or 1.0, medians),)


def timings(cells: Sequence[CellRecord], metric: str) -> np.ndarray | None:
    """Return the numbers of a metric that each cell has once, such as a timing, or None if a cell has one for each run."""
    if all(metric in row.detail.runs for row in cells):
        return None
    return np.array([row.metric(metric) or np.nan for row in cells])


def with_timing_margin(ratio: float) -> Numbers:
    """Return a ratio of timings with its margin, a factor on either side."""
    return ratio, ratio / (1 + TIMING_MARGIN), ratio * (1 + TIMING_MARGIN)


def timing_ratio(first: CellRecord, other: CellRecord, metric: str) -> Numbers | None:
    """Return a timing over another; its margin is a factor, so that no timing can fall by more than 100 %."""
    part, whole = first.metric(metric) or 0.0, other.metric(metric) or 0.0
    if not (part > 0 and whole > 0):
        return None
    return with_timing_margin(part / whole)


def positive_ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the ratio, or NaN where the whole is not positive, as a log-likelihood may be."""
    return np.asarray(np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan))


def paired_means(*cells: tuple[CellRecord, str]) -> np.ndarray:
    """Return the repeats' means of each cell's metric, one row for each, over the repeats that all of them have."""
    by_repeat = [means(row, metric) for row, metric in cells]
    common = sorted(set.intersection(*map(set, by_repeat)))
    values = np.array([[row[key] for key in common] for row in by_repeat], dtype=float).reshape(len(cells), len(common))
    return np.asarray(values[:, np.isfinite(values).all(axis=0)])


def ratio_of_means(values: np.ndarray) -> Numbers | None:
    """Return the first row's mean over the second's; the interval is Student's t of each repeat's residual from the ratio."""
    from scipy.stats import t

    if not (repeats := values.shape[1]) or not values[1].mean() > 0:
        return None
    ratio = float(values[0].mean() / values[1].mean())
    if repeats < 2:
        return ratio, -math.inf, math.inf
    error = float((values[0] - ratio * values[1]).std(ddof=1) / math.sqrt(repeats) / values[1].mean())
    half = float(t.ppf(0.975, repeats - 1)) * error
    return ratio, ratio - half, ratio + half


def mean_with_interval(row: CellRecord, metric: str) -> Numbers | None:
    """Return a cell's mean over the repeats with Student's interval.

    A number that a cell has once has another interval: a timing its margin, a share of the runs Clopper and Pearson's (1934)
    exact one, in which a repeat counts once. Other numbers are computed and not estimated, so that they have none.
    """
    if metric in row.detail.runs:
        return _student(paired_means((row, metric))[0])
    value = row.metric(metric)
    if value is None or metric.startswith("time/"):
        return None if value is None else with_timing_margin(value)
    if metric.startswith(("health/", "inference/", FAILED_SHARE)) and 0 <= value <= 1:
        return _share(value, len(np.unique(row.detail.runs.get("repeat", ()))))
    return value, value, value


def _student(values: np.ndarray) -> Numbers | None:
    from scipy.stats import t

    count = len(values)
    if count < 2:
        return (float(values[0]), -math.inf, math.inf) if count else None
    centre, half = float(values.mean()), float(t.ppf(0.975, count - 1) * values.std(ddof=1)) / math.sqrt(count)
    return centre, centre - half, centre + half


def _share(value: float, count: int) -> Numbers:
    from scipy.stats import beta

    hits = value * count
    low = float(beta.ppf(0.025, hits, count - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(0.975, hits + 1, count - hits)) if hits < count else 1.0
    return value, low, high


def resampled(statistic: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> Numbers | None:
    """Return a statistic of all cells over the repeats (the last axis), with its percentile interval by the bootstrap.

    The draws are the same every time, so that the same records give the same verdict.
    """
    if not (repeats := values.shape[-1]):
        return None
    with np.errstate(all="ignore"):
        value = float(statistic(values))
        if math.isnan(value):
            return None
        if repeats < MIN_REPEATS:
            return value, -math.inf, math.inf
        draws = np.random.default_rng(0).integers(repeats, size=(RESAMPLES, repeats))
        statistics = statistic(values[:, draws])
    statistics = statistics[~np.isnan(statistics)]
    # order statistics, not interpolated: some draws are infinite, where a curve never arrives
    low, high = np.quantile(statistics, [0.025, 0.975], method="nearest") if len(statistics) else (-math.inf, math.inf)
    return value, float(low), float(high)


def spread_of_means(cells: Sequence[CellRecord], metric: str) -> Numbers | None:
    """Return the distance from the smallest to the largest mean of these cells, as a share of their average."""
    if (times := timings(cells, metric)) is None:
        values = paired_means(*((row, metric) for row in cells))
        return resampled(lambda x: np.ptp(x.mean(-1), axis=0) / np.abs(x.mean(-1).mean(0)), values)
    spread = float(np.ptp(times) / times.mean())
    return None if np.isnan(spread) else (spread, max(spread - TIMING_MARGIN, 0.0), spread + TIMING_MARGIN)


def variance(values: np.ndarray) -> np.ndarray:
    """Return the variance over the repeats (the last axis), NaN for a single one."""
    return np.asarray(values.var(-1, ddof=1) if values.shape[-1] > 1 else np.full(values.shape[:-1], np.nan))


def band(values: np.ndarray) -> np.ndarray:
    """Return the width from the 20 % to the 80 % quantile over the repeats (the last axis)."""
    return np.asarray(np.subtract(*np.quantile(values, [0.8, 0.2], axis=-1)))


SPREADS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"variance": variance, "band": band}
SPREAD_HELP = "the variance, or the width from the 20 % to the 80 % quantile"


def spread_ratio(spread: str, first: CellRecord, other: CellRecord, metric: str) -> Numbers | None:
    """Return the spread of a cell's metric over the repeats, divided by that of another."""
    width = SPREADS[spread]
    return resampled(lambda x: np.asarray(width(x[0]) / width(x[1])), paired_means((first, metric), (other, metric)))
