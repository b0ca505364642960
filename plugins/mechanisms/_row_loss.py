"""The bounded loss and the public penalty of a problem, for mechanisms that perturb its objective or its minimum."""

from __future__ import annotations

import math

import numpy as np

from dpbench.contracts.model import Problem
from dpbench.privacy.procedures.row_loss import RowLoss
from dpbench.privacy.queries.quadratic import Quadratic


def bounded_loss(problem: Problem, clip: float) -> RowLoss:
    """Return the loss of a problem's rows; one of unbounded slope is linear from residuals of size ``clip`` on."""
    slope = problem.largest_slope if math.isfinite(problem.largest_slope) else problem.largest_curvature * clip
    return RowLoss(problem, slope, problem.largest_curvature, math.sqrt(problem.geometry.squared_norm))


def quadratic_penalty(problem: Problem) -> np.ndarray:
    """Return the second derivatives of a model's own penalty: (runs, D)."""
    side = problem.geometry.dimension
    nothing = Quadratic(np.zeros((len(problem.n), side, side)), np.zeros((len(problem.n), side)))
    return np.asarray(2 * np.diagonal(problem.regularised(nothing).matrix, axis1=1, axis2=2))
