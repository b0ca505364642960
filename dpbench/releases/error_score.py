"""The score of a candidate of a private selection: a sum over rows of its errors, of which each counts at most 1."""

from dataclasses import dataclass

import numpy as np

from dpbench.contracts.model import Problem
from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Noise, laplace
from dpbench.privacy.queries.query import RowQuery


@dataclass(frozen=True, eq=False)
class ErrorScore(RowQuery):
    """How badly weights predict the rows: the smaller, the better.

    A real target lies in [-1, 1]: a row adds its squared error, or 1 if that is larger, with the prediction clipped to [-1, 1].
    An error of 1 is half of the declared range. Of a binary target, a row adds 1 if the more probable class is wrong.
    """

    problem: Problem
    state: np.ndarray
    """The weights: (runs, D)."""
    name = "score"
    size = 1

    def contribution(self, rows: Rows, run: int) -> np.ndarray:
        predicted = np.asarray(self.problem.predict(rows.x, self.state[run]), dtype=float)
        if rows.geometry.target == "binary":
            errors = ((predicted > 0.5) != (rows.y > 0.5)).astype(float)
        else:
            errors = np.square(np.clip(predicted, -1, 1) - rows.y)
        # a prediction that is no number is as bad as can be, or a row could add NaN
        return np.where(np.isfinite(predicted), np.minimum(errors, 1.0), 1.0).reshape(-1, 1)


def score_noise(geometry: Geometry, epsilon: float) -> Noise:
    """Return the noise of a score that costs ε: a replaced row moves the sum by at most 1, a replaced person by all rows."""
    proof = "each replaced row adds a number from 0 to 1 before and after"
    return laplace(float(geometry.replaced_rows), epsilon, proof)
