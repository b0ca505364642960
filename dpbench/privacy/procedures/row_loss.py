"""Losses of rows with a bounded gradient, and the query that checks what a proof assumes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dpbench.data.scaling import Rows
from dpbench.privacy.queries.query import RowQuery

Array = np.ndarray

ONE = np.ones(1)
STEPS = np.array([-9.0, -3.0, -1.0, -0.3, -0.1, 0.0, 0.1, 0.3, 1.0, 3.0, 9.0])
"""Distances along x'w between which the growth of the gradient is checked."""
ROUNDING = 1e-9
"""Excess over a bound that is rounding."""


class Derivatives(Protocol):
    """The part of a model's problem that is needed: the first and the second derivative of each row's loss along x'w."""

    def gradient(self, x: Array, y: Array, weights: Array) -> Array: ...

    def curvature(self, x: Array, y: Array, weights: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class RowLoss:
    """A convex loss of x'w and y alone, whose gradient along x'w is clipped to [-slope, slope].

    ``curvature`` is the most by which the gradient grows along x'w. Clipping keeps the loss convex, and makes it linear where it
    is steeper: squared loss becomes Huber's. ``derivatives`` is a problem that provides ``gradient``. Its derivatives are called
    with (x'w, 1) in place of (x, w), so that they can depend on nothing else. Design rows have a norm of at most ``norm``, which
    is the root of ``geometry.squared_norm``.
    """

    derivatives: Derivatives
    slope: float
    curvature: float
    norm: float

    def __post_init__(self) -> None:
        for name in ("slope", "curvature", "norm"):
            value = float(getattr(self, name))
            if not 0 < value < np.inf:
                raise ValueError(f"The bound {name!r} of a loss must be finite and positive. Got {value} instead.")
            object.__setattr__(self, name, value)

    @property
    def reach(self) -> float:
        """The most that replacing one row changes the summed gradient, in L2: twice the slope times the norm."""
        return 2 * self.slope * self.norm

    @property
    def stiffness(self) -> float:
        """The largest eigenvalue that one row adds to the Hessian. It grows with the square of the norm."""
        return self.curvature * self.norm**2

    @property
    def identity(self) -> str:
        """A text that is the same for equal losses: it is part of a procedure's identity."""
        kind = type(self.derivatives)
        return f"{kind.__module__}.{kind.__qualname__} slope {self.slope} curvature {self.curvature} norm {self.norm}"

    def slopes(self, at: Array, y: Array) -> Array:
        """Return each row's gradient along x'w at some values of x'w: (rows, values)."""
        return np.asarray(np.clip(self._derivative(self.derivatives.gradient, at, y), -self.slope, self.slope))

    def curvatures(self, at: Array, y: Array) -> Array:
        """Return each row's curvature along x'w at some values of x'w: (rows, values)."""
        curvatures = self._derivative(self.derivatives.curvature, at, y)
        steep = np.abs(self._derivative(self.derivatives.gradient, at, y)) > self.slope
        return np.where(steep, 0.0, curvatures)

    def _derivative(self, function: Callable[[Array, Array, Array], Array], at: Array, y: Array) -> Array:
        target = y if at.shape[1] == 1 else np.repeat(y, at.shape[1])
        return np.asarray(function(at.reshape(-1, 1), target, ONE)).reshape(at.shape)

    def excess(self, at: Array, y: Array) -> Array:
        """Return by how much, relatively, each row's gradient leaves the growth that is declared: (rows,).

        Along x'w it must not decrease, which is convexity, and grow by at most the curvature's bound.
        """
        slopes = self.slopes(at[:, None] + STEPS, y)
        growth = np.diff(slopes, axis=1) / np.diff(STEPS) / self.curvature
        most = np.maximum(growth - 1, -growth).max(axis=1)
        return np.where(most > ROUNDING, most, 0.0)


@dataclass(frozen=True, eq=False)
class LossDerivatives(RowQuery):
    """The gradient of the summed loss at given weights, the upper triangle of its Hessian, and what breaks the declared bounds.

    It decides how likely released weights are on a table. The last number is zero if every row keeps the bounds.
    """

    loss: RowLoss
    state: Array
    """The weights: (runs, D)."""
    name: ClassVar[str] = "derivatives of the loss"  # type: ignore[misc]

    @property
    def size(self) -> int:
        side = int(self.state.shape[1])
        return side + side * (side + 1) // 2 + 1

    def contribution(self, rows: Rows, run: int) -> Array:
        x, y, weights = rows.x, rows.y, self.state[run]
        j, k = np.triu_indices(len(weights))
        at = x @ weights
        slopes, curvatures = self.loss.slopes(at[:, None], y), self.loss.curvatures(at[:, None], y)
        longer = np.square(x).sum(axis=1) / self.loss.norm**2 - 1
        excess = self.loss.excess(at, y) + np.where(longer > ROUNDING, longer, 0.0)
        return np.column_stack([x * slopes, x[:, j] * x[:, k] * curvatures, excess])

    def parts(self, answer: Array) -> tuple[Array, Array, Array]:
        """Return the gradient (…, D), the Hessian (…, D, D) and the excess (…) of an answer."""
        side = self.state.shape[1]
        j, k = np.triu_indices(side)
        hessian = np.zeros((*answer.shape[:-1], side, side))
        hessian[..., j, k] = hessian[..., k, j] = answer[..., side:-1]
        return answer[..., :side], hessian, answer[..., -1]


def beyond(moved: Array, *excess: Array) -> Array:
    """Return how far answers moved, or more than 1 where a row breaks a bound that the proof needs."""
    most = np.maximum(*excess)
    return np.asarray(np.where(most > 0, np.maximum(moved, 1) + most, moved))
