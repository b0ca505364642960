"""What is measured of intervals: whether they cover, how wide they are, and whether they say what non-private ones say."""

import numpy as np

from dpbench.contracts.uncertainty import Intervals
from dpbench.inference.quantiles import two_sided
from dpbench.records.metric_info import MetricInfo

Array = np.ndarray

INFOS = (
    MetricInfo(
        "inference/coverage",
        "coverage of the intervals",
        "Share of the slopes inside their intervals. `dpbench.intervals` says of which truth; absent where none is known.",
        "neither",
        "share of the slopes",
    ),
    MetricInfo(
        "inference/width_ratio",
        "width of the intervals (non-private: 1)",
        "Widths of the intervals of the slopes, over those of the non-private fit of the same run: the geometric mean.",
        "lower",
        "times the non-private width",
    ),
    MetricInfo(
        "inference/sign_significance",
        "slopes with the sign and significance of the non-private fit",
        "Share of the slopes that are significant with the same sign in both fits, or in neither (Barrientos et al.).",
        "higher",
        "share of the slopes",
    ),
    MetricInfo(
        "inference/overlap",
        "overlap with the non-private intervals",
        "The part of an interval that is also in the non-private one, and the other way round: the mean (Karr et al. 2006).",
        "higher",
    ),
)
"""What each metric of intervals is called and means."""


def non_private(weights: Array, standard_errors: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Return the textbook intervals of the non-private fit, low and high: (runs, D)."""
    reach = standard_errors * two_sided(level, n - weights.shape[1], np.zeros_like(weights))
    return weights - reach, weights + reach


def measured(intervals: Intervals, reference: tuple[Array, Array], truth: Array, intercept: bool) -> dict[str, Array]:
    """Return every metric of the slopes' intervals: (runs,), NaN where the truth or the non-private intervals are not known.

    Slopes with an infinite interval do not count: it covers everything, and says nothing.
    """
    slopes = slice(int(intercept), None)
    low, high, centre = (array[:, slopes] for array in (intervals.low, intervals.high, intervals.centre))
    (other_low, other_high), truth = (array[:, slopes] for array in reference), truth[:, slopes]
    width, other_width = high - low, other_high - other_low
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shared = np.maximum(np.minimum(high, other_high) - np.maximum(low, other_low), 0.0)
        values = {
            "coverage": np.where(np.isnan(truth), np.nan, (low <= truth) & (truth <= high)),
            "width_ratio": np.log(width / other_width),
            "sign_significance": _verdict(low, high) == _verdict(other_low, other_high),
            "overlap": (shared / width + shared / other_width) / 2,
        }
        known = np.isfinite(centre).all(axis=1) & np.isfinite(other_width).all(axis=1)
        shown = np.isfinite(width)
        totals = {name: np.where(shown, np.asarray(value, dtype=float), 0.0).sum(axis=1) for name, value in values.items()}
        means = {name: np.where(known, total / shown.sum(axis=1), np.nan) for name, total in totals.items()}
        means["width_ratio"] = np.exp(means["width_ratio"])
    return {f"inference/{name}": np.where(np.isfinite(value), value, np.nan) for name, value in means.items()}


def _verdict(low: Array, high: Array) -> Array:
    """Return the sign of coefficients whose interval leaves out 0, and 0 for the others."""
    return np.where(low > 0, 1, np.where(high < 0, -1, 0))
