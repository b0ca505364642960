"""The summed gradient of a loss in whitened coordinates, each row's part clipped, with what the next step needs to know.

A run's state is a whitening matrix A, weights w and a limit Γ, all public or private answers. A row with design x adds the
vector A'x r, shortened to length Γ where it is longer; r is minus the slope of its loss along x'w, in units of the largest
curvature of the loss, so that r = y - x'w for squared errors. It also adds 1 to the one bin that its length ‖A'x r‖ is in, and,
where the loss is not quadratic, its share of the largest curvature.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Gaussian, Noise
from dpbench.privacy.queries.polynomial import Loss
from dpbench.privacy.queries.query import RowQuery

Array = np.ndarray

FLOOR = 0.3
"""The floor of the eigenvalues of X'X, in units of the largest that noise alone makes."""
LARGEST_SQUARE = 4.0
"""The largest squared difference of two numbers in [-1, 1]."""
LEAST_VARIANCE = 1e-6
"""The smallest variance of residuals that is reported."""
TINY = np.finfo(float).tiny
BINS = 24
"""The bins of lengths. Each is √2 times as wide as the next, the first holds all longer rows, the last all shorter ones."""


@dataclass(frozen=True)
class Axes:
    """The principal axes of the released X'X, and the coordinates in which it is the identity, up to its noise and its floor."""

    released: Array
    """λ: (runs, D)."""
    vectors: Array
    """(runs, D, D), as columns."""
    std: float
    """σ, the standard deviation of the noise of X'X off the diagonal."""

    @property
    def of_noise(self) -> float:
        """The largest eigenvalue that noise alone makes: about 2σ√D."""
        return 2 * self.std * math.sqrt(self.released.shape[1])

    @property
    def floor(self) -> float:
        """The floor of the eigenvalues."""
        return FLOOR * self.of_noise

    @cached_property
    def raised(self) -> Array:
        """q, the eigenvalues with a floor: (runs, D)."""
        return np.asarray(np.maximum(self.released, self.floor))

    @cached_property
    def whitening(self) -> Array:
        """A: a row x has the coordinates A'x: (runs, D, D)."""
        return np.asarray(self.vectors / np.sqrt(self.raised)[:, None, :])

    @property
    def lifted(self) -> Array:
        """How much of each eigenvalue is the floor's, as a share: (runs, D)."""
        return np.asarray(np.clip(1 - self.released / self.raised, 0.0, 1.0))

    @property
    def hidden(self) -> Array:
        """How far each eigenvalue is below the noise, as a share of the noise: (runs, D)."""
        return np.asarray(np.clip(1 - self.released / max(self.of_noise, TINY), 0.0, 1.0))

    def explained(self, place: Array, intercept: bool) -> Array:
        """Return the sum of squares that a fit explains, around the mean if there is an intercept: (runs,)."""
        total = np.square(place).sum(axis=1)
        if not intercept:
            return np.asarray(total)
        ones = np.sqrt(self.raised) * self.vectors[:, 0, :]  # the first column, in whitened coordinates
        of_mean = np.square(np.einsum("ri,ri->r", ones, place)) / np.square(ones).sum(axis=1)
        return np.asarray(np.maximum(0.0, total - of_mean))

    def steps(self, largest: float) -> Array:
        """Return lengths of steps along the axes, at most 1: (runs, D).

        X'X is at most the released matrix plus the largest eigenvalue of the noise, except in rare draws. So with these lengths s
        the eigenvalues of s^½ A'X'XA s^½ are at most ``largest``, and a step does not overshoot further than momentum allows.
        """
        return np.asarray(np.minimum(1.0, largest * self.raised / (np.maximum(self.released, 0.0) + max(self.of_noise, TINY))))


@dataclass(eq=False)
class WhitenedGradient(RowQuery):
    """The clipped gradient (D numbers, none without limits), the bins' counts, and the sum of the rows' curvatures."""

    problem: Any
    """A problem with a polynomial loss, and with ``gradient`` and ``curvature`` where that is a truncation."""
    whitening: Array
    """(runs, D, D): a row x has the coordinates A'x."""
    weights: Array
    """(runs, D), in the units of the design."""
    limits: Array | None = None
    """Γ of each run: (runs,). None asks for the counts and curvatures alone."""
    proof = "a row adds a vector of length Γ at most, 1 to one bin and a share of at most 1 (dpbench, docs/sensitivities.md)"

    @property
    def name(self) -> str:  # type: ignore[override]
        return "row_lengths" if self.limits is None else "whitened_gradient"

    @cached_property
    def longest(self) -> Array:
        """The upper edge of the first bin, which also holds all longer rows: (runs,)."""
        geometry, loss = self.problem.geometry, self.problem.loss
        row = np.sqrt(np.square(self.whitening).sum(axis=1).max(axis=1) * geometry.squared_norm)
        return np.asarray(row * loss.largest_slope(geometry) / (2 * loss.curvature))

    @cached_property
    def state(self) -> Array:  # type: ignore[override]
        """Everything that contributions depend on besides the row: (runs, numbers)."""
        runs = len(self.weights)
        limits = np.zeros(runs) if self.limits is None else self.limits
        return np.concatenate([self.whitening.reshape(runs, -1), self.weights, limits[:, None]], axis=1)

    @property
    def identity(self) -> str:
        state = hashlib.blake2b(np.ascontiguousarray(self.state).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, at the state {state}"

    @property
    def vector(self) -> int:
        """How many numbers the gradient has."""
        return 0 if self.limits is None else self.weights.shape[1]

    @property
    def counted(self) -> int:
        """How many sums besides the gradient have a price: the counts and, where the loss is not quadratic, the curvatures."""
        return 1 + (not self.problem.loss.exact)

    @property
    def size(self) -> int:
        return self.vector + BINS + self.counted - 1

    def contribution(self, rows: Rows, run: int) -> Array:
        x, y, weights, loss = rows.x, rows.y, self.weights[run], self.problem.loss
        unit = 2 * loss.curvature
        white = x @ self.whitening[run]
        residual = quadratic_residuals(loss, rows, weights) if loss.exact else -self.problem.gradient(x, y, weights) / unit
        length = np.sqrt(np.square(white).sum(axis=1)) * np.abs(residual)
        out = np.zeros((rows.n, self.size))
        longest = self.longest[run]
        halvings = 2 * np.log2(longest / np.maximum(length, longest * 2.0**-BINS))
        out[np.arange(rows.n), self.vector + np.clip(np.floor(halvings), 0, BINS - 1).astype(int)] = 1.0
        if self.limits is not None:
            shorter = self.limits[run] / np.maximum(length, self.limits[run])
            out[:, : self.vector] = white * (residual * shorter)[:, None]
        if not loss.exact:
            out[:, -1] = np.clip(self.problem.curvature(x, y, weights) / unit, 0.0, 1.0)
        return out

    def noise(self, counts_mu: float, gradient_mu: float | None = None) -> Noise:
        """Return normal noise for which the counts, the curvatures and the gradient each cost their own μ.

        Two clipped vectors differ by at most 2Γ, two rows' bins by √2, two shares of curvature by 1, and a person's rows change
        one after the other.
        """
        scales, costs = [np.full((len(self.weights), BINS), math.sqrt(2) / counts_mu)], [counts_mu] * self.counted
        if self.counted > 1:
            scales.append(np.full((len(self.weights), 1), 1 / counts_mu))
        if self.limits is not None and gradient_mu is not None:
            scales.insert(0, np.repeat(2 * self.limits[:, None] / gradient_mu, self.vector, axis=1))
            costs.append(gradient_mu)
        scale = self.problem.geometry.replaced_rows * np.concatenate(scales, axis=1)
        return Noise(Gaussian(), scale, math.hypot(*costs), self.proof)

    def answer(self, released: Array) -> tuple[Array, Array, Array]:
        """Return the gradients (runs, D or 0), the number of rows in each bin (runs, BINS), the sums of curvatures (runs,)."""
        curvature = released[:, -1] if self.counted > 1 else self.problem.n
        return released[:, : self.vector], released[:, self.vector : self.vector + BINS], curvature

    def limits_for(self, counts: Array, clipped: Array) -> Array:
        """Return the smallest edge of a bin above which fewer than ``clipped`` rows were counted: (runs,).

        How long the rows of the first bin are is not known. If they alone are too many, the limit is twice its edge, so that it
        can grow with the residuals.
        """
        enough = np.cumsum(counts, axis=1)[:, :-1] >= clipped[:, None]
        at = np.where(enough.any(axis=1), enough.argmax(axis=1), BINS - 2)
        return np.asarray(np.where(at == 0, 2.0, 2.0 ** (-at / 2)) * self.longest)

    def cut(self, counts: Array) -> Array:
        """Return about how much length clipping cuts off all rows together, from the counts of their lengths: (runs,)."""
        assert self.limits is not None
        middles = self.longest[:, None] * 2.0 ** (-(np.arange(BINS) / 2) - 1 / 4)
        return np.asarray(np.maximum(0.0, (counts * np.maximum(0.0, middles - self.limits[:, None])).sum(axis=1)))


def quadratic_residuals(loss: Loss, rows: Rows, weights: Array) -> Array:
    """Return how far x'w of each row is below the minimum of its quadratic loss: y - x'w for squared errors."""
    before, per_target = loss.slope
    return np.asarray(-(before + per_target * rows.y) / (2 * loss.curvature) - rows.x @ weights)


@dataclass(eq=False)
class SquaredResiduals(RowQuery):
    """The sum of squared residuals of targets and predictions in [-1, 1] at each run's own weights (runs, D)."""

    problem: Any
    state: Array
    name: str = "squared_residuals"
    size: int = 1
    proof = "a row adds a number from 0 to 4 (dpbench, docs/sensitivities.md)"

    @property
    def identity(self) -> str:
        state = hashlib.blake2b(np.ascontiguousarray(self.state).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, at the state {state}"

    def contribution(self, rows: Rows, run: int) -> Array:
        predictions = np.clip(self.problem.predict(rows.x, self.state[run]), -1.0, 1.0)
        return np.asarray(np.square(rows.y - predictions)[:, None])

    def noise(self, mu: float) -> Noise:
        """Return normal noise that makes the sum μ-GDP."""
        bound = LARGEST_SQUARE * self.problem.geometry.replaced_rows
        return Noise(Gaussian(), np.full((len(self.state), 1), bound / mu), mu, self.proof)

    def variance(self, released: Array, noise: Noise) -> Array:
        """Return the variance of the residuals, rather too large than too small by the noise: (runs,)."""
        left = (released + noise.scale)[:, 0] / np.maximum(self.problem.n - self.state.shape[1], 1)
        return np.asarray(np.clip(left, LEAST_VARIANCE, 1.0))
