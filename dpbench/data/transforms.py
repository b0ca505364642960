"""Transforms: public, increasing maps of a column's values, applied before they are scaled and undone after a prediction."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpbench.base.errors import Refused

TransformName = Literal["log", "log1p", "quantile"]
LOWEST = {"log": 0.0, "log1p": -1.0}
"""The lower bound of a column must be above this number."""


@dataclass(frozen=True)
class Transform:
    """A transform of a column: ``log``, ``log1p`` (the logarithm of 1 plus the value), or ``quantile``.

    ``quantile`` is linear between ``knots``, which it maps to evenly spaced numbers: the column's bounds, and between them the
    quantiles that someone has published. Like bounds, knots are declared and never read from the rows.
    """

    name: TransformName
    knots: tuple[float, ...] = ()

    def check(self, column: str, low: float, high: float) -> None:
        """Refuse bounds that the transform is not defined for, and knots that are not between them."""
        if self.name == "quantile":
            inner = self.knots[1:-1]
            if not inner or self.knots != (low, *inner, high) or not (np.diff(self.knots) > 0).all():
                raise Refused(
                    f"The quantiles of column {column!r} must be increasing numbers between its bounds {low:g} and {high:g}. "
                    f"Got {list(inner)} instead."
                )
        elif low <= LOWEST[self.name]:
            hint = " (log1p allows 0)" if low == 0 else ""
            raise Refused(
                f"The lower bound of column {column!r} must be above {LOWEST[self.name]:g}, because its transform is "
                f"{self.name}{hint}. Got {low:g} instead."
            )

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Transform values between the column's bounds."""
        if self.name == "quantile":
            return np.asarray(np.interp(values, self.knots, np.arange(len(self.knots), dtype=float)))
        return np.asarray(np.log(values) if self.name == "log" else np.log1p(values))

    def invert(self, values: np.ndarray) -> np.ndarray:
        """Undo the transform. Beyond its outer knots a quantile transform has no inverse, and returns the nearer bound."""
        if self.name == "quantile":
            return np.asarray(np.interp(values, np.arange(len(self.knots), dtype=float), self.knots))
        with np.errstate(over="ignore"):  # far outside the bounds the inverse is infinite
            return np.asarray(np.exp(values) if self.name == "log" else np.expm1(values))
