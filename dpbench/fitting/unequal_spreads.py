"""Least squares of columns with very different spreads, from sums that are exact.

A column that varies by a millionth of its bounds, far from their middle, is nearly a multiple of the intercept. The spectrum of
X'X then has no digits left for its weight. The sums have: shifting every column by its rounded mean and scaling it by a power of
two are exact too. What remains is about correlations alone, and is solved with the gradient in long floats.
"""

import numpy as np

from dpbench.data.moments import Moments
from dpbench.data.scaling import FRACTION_BITS
from dpbench.privacy.queries.quadratic import Quadratic

MAX_CONDITION = 1e6
"""Up to this ratio of the largest eigenvalue of X'X to the smallest one, the spectrum gives nine digits of every weight."""
STEPS = 4
"""The first one solves; each of the others multiplies the error by the rounding of floats times the condition number."""


def refined(weights: np.ndarray, objective: Quadratic, moments: Moments) -> np.ndarray:
    """Return the minimisers (runs, D) of a squared loss without a penalty, solved again where the spectrum is too coarse.

    Where columns depend on each other, the weights stay the smallest ones.
    """
    values, _ = objective.spectrum
    coarse = np.flatnonzero(values[:, 0] * MAX_CONDITION < values[:, -1])
    if len(coarse) == 0:
        return weights
    weights = weights.copy()
    for run in coarse:
        solved = _solved(moments.gram[run], moments.geometry.intercept, moments.geometry.constant)
        if solved is not None:
            weights[run] = solved
    return weights


def _improved(objective: Quadratic) -> np.ndarray:
    """Return the minimiser after steps that each solve for what is left of the gradient, in long floats."""
    matrix, linear = (array.astype(np.longdouble) for array in (objective.matrix, objective.linear))
    weights = np.zeros(len(linear), np.longdouble)
    for _ in range(STEPS):
        gradient = linear + 2 * (matrix @ weights)
        weights = weights + Quadratic(objective.matrix, gradient.astype(float), objective.spectrum).minimiser()
    return np.asarray(weights.astype(float))


def _solved(gram: np.ndarray, intercept: bool, constant: float) -> np.ndarray | None:
    """Solve for one run from its sums of products of (1, features, y); None if columns depend on each other."""
    shift = np.zeros(len(gram))
    if intercept:
        step = 2.0**-FRACTION_BITS  # multiples of the grid, so that the products below are exact
        shift[1:] = np.round(gram[0, 1:] / gram[0, 0] / step) * step
        gram = gram - np.outer(shift, gram[0])
        gram = gram - np.outer(gram[:, 0], shift)
    first = 0 if intercept else 1
    xx, xy = gram[first:-1, first:-1], gram[first:-1, -1]
    if (np.diag(xx) <= 0).any():
        return None
    scales = 2.0 ** -np.round(np.log2(np.diag(xx)) / 2)
    objective = Quadratic(xx, -2 * xy).rescaled(scales)
    if not objective.positive_definite:
        return None
    weights = scales * _improved(objective)
    if intercept:
        weights[0] = (weights[0] + shift[-1] - shift[1:-1] @ weights[1:]) / constant
    return np.asarray(weights)
