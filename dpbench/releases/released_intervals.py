"""What the file of a release knows of its intervals: plain numbers, from which predictions get intervals too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.inference.noisy_regression import LARGEST_VARIANCE
from dpbench.inference.quantiles import of_predictions

Array = np.ndarray

NUMBERS = ("estimate", "standard_error", "low", "high")
"""What an interval has for each coefficient."""
BEFORE_INTERVALS = "No intervals: the file is older than intervals."


@dataclass(frozen=True)
class NoIntervals:
    """Why a release has no intervals, in a sentence."""

    reason: str = BEFORE_INTERVALS


@dataclass(frozen=True)
class ReleasedIntervals:
    """An interval for each coefficient on the scaled columns, which follows from the released answers alone."""

    method: str
    covers: str
    level: float
    coefficients: Mapping[str, Mapping[str, float | None]]
    """By name: ``estimate``, the centre of the interval; ``standard_error``, ``low``, ``high``, all None if it is infinite."""
    centred_on_weights: bool
    """Whether the estimates are the released weights."""
    degrees_of_freedom: int
    """The public number of rows minus that of coefficients."""
    covariance: tuple[tuple[float, ...], ...] | None
    """Of the estimates, in the order of the coefficients."""
    residual_variance: float | None
    """Of the scaled target around its regression."""
    residual_variance_error: float | None
    """The standard deviation that the noise of privacy gives it."""
    floored: bool | None
    """Whether noise hides the curvature in some direction, so that estimates are drawn towards 0."""
    remarks: tuple[str, ...]
    sentence: str
    """Which uncertainty the intervals cover, and what limits them."""

    def __post_init__(self) -> None:
        size = len(self.coefficients)
        numbers = [row[name] for row in self.rows.values() for name in NUMBERS if row["high"] != math.inf or name == "estimate"]
        numbers += [value for row in self.covariance or () for value in row]
        numbers += [value for value in (self.residual_variance, self.residual_variance_error) if value is not None]
        if not all(math.isfinite(number) for number in numbers):
            raise Refused("The intervals of a release must be finite numbers. Got others.")
        if self.covariance is not None and [len(row) for row in self.covariance] != [size] * size:
            raise Refused(f"The covariance of a release must have {size} rows of {size} numbers. Got another shape.")

    @property
    def rows(self) -> dict[str, dict[str, float]]:
        """The coefficients with the ends of infinite intervals as numbers, which JSON does not have."""
        infinite = {"standard_error": math.inf, "low": -math.inf, "high": math.inf}
        return {
            name: {what: infinite.get(what, math.nan) if value is None else value for what, value in row.items()}
            for name, row in self.coefficients.items()
        }

    def predicted(self, design: Array, names: Sequence[str], level: float) -> tuple[Array, Array]:
        """Return intervals of the scaled targets of future rows, low and high, for a design with these columns.

        A future target differs from its prediction by its own error, of variance σ², and by that of the coefficients, of
        variance x'Cx. Errors are taken for normal. Both sampling and the noise of privacy move the estimate of σ².
        """
        if reason := self._missing():
            raise Refused(f"This release has no intervals of predictions: {reason}.")
        order = [list(self.coefficients).index(name) for name in names]
        estimates = np.array([self.rows[name]["estimate"] for name in names])
        covariance, variance = np.array(self.covariance)[np.ix_(order, order)], float(self.residual_variance or 0)
        of_means = np.maximum(np.einsum("rj,jk,rk->r", design, covariance, design), 0.0)
        error = math.hypot(variance * math.sqrt(2 / max(self.degrees_of_freedom, 1)), self.residual_variance_error or 0)
        centre, reach = design @ estimates, of_predictions(level, variance, error, LARGEST_VARIANCE, of_means)
        return centre - reach, centre + reach

    def _missing(self) -> str:
        """Return what intervals of predictions lack, as the end of a sentence; an empty text if nothing."""
        if self.method == "naive":
            return "the naive method ignores the noise of privacy: release with inference.method=auto"
        if self.covers != "population":
            return "its intervals cover the noise of privacy alone, and a future row comes from the population"
        if self.covariance is None:
            return "its intervals have no covariance matrix"
        if self.residual_variance is None or self.residual_variance_error is None:
            return "it does not tell how far targets lie from the regression"
        return ""


def read_section(content: Mapping[str, Any] | None) -> ReleasedIntervals | NoIntervals:
    """Return the section of a file as it was written; files that are older than intervals have none."""
    if content is None:
        return NoIntervals()
    if "reason" in content:
        return NoIntervals(**content)
    covariance = content["covariance"]
    rows = None if covariance is None else tuple(map(tuple, covariance))
    return ReleasedIntervals(**{**content, "covariance": rows, "remarks": tuple(content["remarks"])})
