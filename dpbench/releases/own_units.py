"""The coefficients of a release in the columns' own units, as an equation that holds for values within the bounds."""

from dataclasses import dataclass

import numpy as np

from dpbench.releases.release_file import Release


@dataclass(frozen=True)
class LinearEquation:
    """The prediction (of a binary target its log odds) is the intercept plus the sum of coefficients times values."""

    names: tuple[str, ...]
    """Of the design's columns: a column with levels has one for each."""
    coefficients: np.ndarray
    """NaN where a column is transformed; all NaN if the target is, or if rows have a declared norm."""
    intercept: float
    """Where all columns are 0; NaN if a coefficient is."""


def linear_equation(release: Release) -> LinearEquation:
    """Return the equation of a released linear model."""
    units = release._units()
    names = tuple(column.name for column in release.columns)
    coefficients = np.array([release.weights[name] * units[name][1] if name in units else np.nan for name in names])
    # a numeric column counts from the middle of its bounds, a level from 0
    middles = np.array([(column.low + column.high) / 2 if column.group is None else 0.0 for column in release.columns])
    if release.intercept:
        offset, unit = units.get("intercept", (np.nan, np.nan))
        start = offset + release.weights["intercept"] * unit
    else:
        start = 0.0 if release.kind == "binary" else (release.target.low + release.target.high) / 2
    return LinearEquation(names, coefficients, float(start - coefficients @ middles))
