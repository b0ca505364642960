"""The minimum of a summed convex loss with a linear term and a ridge, to rounding: Newton's method for many runs at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from dpbench.data.samples import Sample
from dpbench.data.scaling import CHUNK
from dpbench.privacy.procedures.row_loss import RowLoss

Array = np.ndarray
Law = Literal["gamma", "gaussian"]
"""The law of a random vector: length times a uniform direction, or normal coordinates."""

MAX_STEPS = 1_000
"""A run that needs more steps gets NaN. 5 to 15 are usual; hundreds occur where nearly all rows' losses are linear."""
MAX_HALVINGS = 40
KEPT_HESSIAN_GAIN = 0.1
"""The Hessian is computed anew where a step does not shrink the gradient to this fraction."""
MAX_BLOCK_NUMBERS = 1_000_000
"""Numbers that a block of rows may hold for all runs: it stays in the processor's cache."""
THINNED_ROWS = 4_000
"""A table of many more rows than this starts from the minimum of about as many rows."""
RELATIVE_ROUNDING = 1e-14
"""Rounding of a summed gradient, relative to the sum of the rows' bounds."""
ROUNDING_OF_WEIGHTS = 4e-16
"""The same for each unit of the weights' length, relative to the sum of the rows' largest curvatures."""


def minimise(sample: Sample, loss: RowLoss, ridge: Array, linear: Array, tolerance: float) -> Array:
    """Return the minimiser of Σ loss + ½ Σ ridge_j w_j² + linear'w for each run of a sample: (runs, D).

    ``ridge`` and ``linear`` are (runs, D). The gradient that remains is at most ``tolerance``, or rounding. A run that does not
    get there has NaN: its loss is not convex, or rounding is larger than expected.
    """
    if sample.geometry.replaced_rows != 1:
        raise ValueError("The minimum of a loss is priced for one replaced row, not for all rows of a person.")
    weights = [_Objective(loss, x, y, ridge[runs], linear[runs]).minimiser(tolerance) for runs, x, y in _tables(sample)]
    return np.concatenate(weights)


def _tables(sample: Sample) -> Iterator[tuple[slice, Array, Array]]:
    """Yield consecutive runs that have the same rows, with their design and target."""
    start, current = 0, sample.rows(0)
    for run in range(1, sample.runs):
        rows = sample.rows(run)
        if rows is not current:
            yield slice(start, run), current.x, current.y
            start, current = run, rows
    yield slice(start, sample.runs), current.x, current.y


class _Objective:
    """The objectives of several runs with the same rows."""

    def __init__(self, loss: RowLoss, x: Array, y: Array, ridge: Array, linear: Array) -> None:
        self.loss, self.x, self.y, self.ridge, self.linear = loss, x, y, ridge, linear

    def minimiser(self, tolerance: float) -> Array:
        """Return the minimisers: (runs, D).

        The loss itself is not needed: a step is halved while the slope along it is positive at its end, unless it is at most half
        as steep as at its start and the gradient's norm has halved. The norm alone would not do: where the loss is nearly linear
        a step can end far beyond the minimum, in a plain with a shorter gradient.
        """
        tolerance += RELATIVE_ROUNDING * len(self.y) * self.loss.slope * self.loss.norm
        per_length = ROUNDING_OF_WEIGHTS * len(self.y) * self.loss.stiffness
        weights = self._start(tolerance)
        everyone = np.arange(len(weights))
        gradient, hessian = self._gradient(weights, everyone), self._hessian(weights, everyone)
        for _ in range(MAX_STEPS):
            before = np.linalg.norm(gradient, axis=1)
            enough = tolerance + per_length * np.linalg.norm(weights, axis=1)
            (active,) = np.nonzero(before > enough)
            if not len(active):
                return weights
            step = -np.linalg.solve(hessian[active], gradient[active][:, :, None])[:, :, 0]
            moving = active
            for _ in range(MAX_HALVINGS):
                ends = weights[moving] + step
                slopes = self._gradient(ends, moving)
                start, end = (gradient[moving] * step).sum(axis=1), (slopes * step).sum(axis=1)
                accepted = (end <= 0) | ((end <= -start / 2) & (np.linalg.norm(slopes, axis=1) <= before[moving] / 2))
                done = moving[accepted]
                weights[done], gradient[done] = ends[accepted], slopes[accepted]
                moving, step = moving[~accepted], step[~accepted] / 2
                if not len(moving):
                    break
            # a Hessian with which a step still does well is kept: it costs more than several gradients
            left = np.linalg.norm(gradient[active], axis=1)
            slow = active[(left > enough[active]) & (left > KEPT_HESSIAN_GAIN * before[active])]
            if len(slow):
                hessian[slow] = self._hessian(weights[slow], slow)
        weights[np.linalg.norm(gradient, axis=1) > tolerance + per_length * np.linalg.norm(weights, axis=1)] = np.nan
        return weights

    def _start(self, tolerance: float) -> Array:
        """Return where to start: at the minimum of every k-th row, whose loss counts k times, or at 0."""
        every = len(self.y) // THINNED_ROWS
        if every < 4:
            return np.zeros(self.linear.shape)
        x, y = np.ascontiguousarray(self.x[::every]), np.ascontiguousarray(self.y[::every])
        start = _Objective(self.loss, x, y, self.ridge / every, self.linear / every).minimiser(tolerance)
        return np.where(np.isfinite(start), start, 0.0)

    def _gradient(self, weights: Array, runs: Array) -> Array:
        """Return the gradients of some runs at these weights: (runs, D)."""
        gradient = self.ridge[runs] * weights + self.linear[runs]
        for x, y in self._blocks(len(runs)):
            gradient += self.loss.slopes(x @ weights.T, y).T @ x
        return np.asarray(gradient)

    def _hessian(self, weights: Array, runs: Array) -> Array:
        """Return the Hessians of some runs at these weights: (runs, D, D)."""
        hessian = self.ridge[runs][:, :, None] * np.eye(weights.shape[1])
        for x, y in self._blocks(len(runs) * weights.shape[1]):
            hessian += x.T @ (self.loss.curvatures(x @ weights.T, y).T[:, :, None] * x)
        return np.asarray(hessian)

    def _blocks(self, numbers: int) -> Iterator[tuple[Array, Array]]:
        """Yield blocks of rows; ``numbers`` is what the working memory of a row holds."""
        size = max(min(CHUNK, MAX_BLOCK_NUMBERS // numbers), 1)
        for start in range(0, len(self.y), size):
            yield self.x[start : start + size], self.y[start : start + size]


def check_ridge(alpha: Array, penalty: Array) -> None:
    """Refuse a ridge that does not make every coefficient's objective strongly convex, the intercept's included."""
    if not (np.isfinite(alpha).all() and (alpha > 0).all()):
        raise ValueError(f"The ridge on all coefficients must be finite and positive. Got {alpha} instead.")
    if penalty.ndim != 2 or not (np.isfinite(penalty).all() and (penalty >= 0).all()):
        raise ValueError("A further penalty must be finite and at least 0, for each run or all of them: (1 or runs, D).")


def ridges(alpha: Array, penalty: Array, runs: int) -> Array:
    """Return the ridge of every coefficient in each run: (runs, D)."""
    return np.broadcast_to(alpha[:, None] + penalty, (runs, penalty.shape[1]))


def draw(generators: Sequence[np.random.Generator], size: int, law: Law, scale: Array) -> Array:
    """Return noise for each generator: normal coordinates, or with ``gamma`` a density proportional to exp(-‖b‖ / scale)."""
    noise = np.stack([generator.standard_normal(size) for generator in generators])
    if law == "gamma":
        length = np.array([generator.gamma(size) for generator in generators])
        noise *= (length / np.linalg.norm(noise, axis=1))[:, None]
    return np.asarray(scale[:, None] * noise)
