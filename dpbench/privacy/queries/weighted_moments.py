"""Weighted second moments: X'SX and X'Sy with a weight for each row, their sensitivities, and back to a quadratic.

Replacing a row changes them by s f(x, y) - s' f(x', y') with weights from 0 to κ, and a norm of that is convex in (s, s'):
it is largest if each weight is 0 or κ. So the bounds are κ times those of plain moments over rows that may also be all zeros.
The intercept's column is then 0 or 1, as private as any other, and its own coefficient, the sum of the weights, is released
and counted. If every row has weight 1, that coefficient is n, and public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.queries.polynomial import Loss, Polynomial, design_columns
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import Layer, MomentQuery

Array = np.ndarray

_MOMENTS = Loss(curvature=1.0, slope=(0.0, 1.0), printed_slope=1.0, printed_constant=0.0)
"""The loss whose coefficients are x_j x_k and x_j y."""


@dataclass(eq=False)
class WeightedMoments(MomentQuery):
    """The upper triangle of B = X'SX, then A = X'Sy, of each run: the moments for one step of reweighted least squares.

    ``weigh(residuals)`` returns the rows' weights from their residuals y - x'w under the run's own ``state`` w, (runs, D). The
    weights are clipped to [0, ``largest``], because the bounds rest on it. Without ``weigh`` every row has weight 1, and the
    sample's moments give the answer at once. Otherwise an answer costs one pass over each run's rows (0.1 s per million rows
    of 14 columns), which the parts of the query share.
    """

    geometry: Geometry
    weigh: Callable[[Array], Array] | None = None
    state: Array | None = None
    largest: float = 1.0
    name: str = "weighted_moments"
    proof = "κ times the supremum for rows of weight 1 over replace-one neighbours (dpbench, privacy/queries/weighted_moments.py)"

    def __post_init__(self) -> None:
        if (self.weigh is None) != (self.state is None) or (self.weigh is None and self.largest != 1):
            raise ValueError("Weights need a state and a largest value, and both need weights.")
        counted = self.weigh is None and self.geometry.public_count
        geometry = self.geometry if counted else self.geometry.with_private_intercept()
        self.objective = Polynomial(_MOMENTS, geometry, "matrix")
        """The same coefficients as a polynomial: it decides which of them are released, and in which order."""
        self.weighted = self.weigh is not None
        self._part = slice(None)
        self._whole: WeightedMoments = self

    @property
    def layers(self) -> tuple[Layer, ...]:
        column, constant = design_columns(self.geometry)
        j, k = self.objective.pairs
        target = np.full(len(column), self.geometry.features + 1)
        first, second = np.concatenate([column[j], column]), np.concatenate([column[k], target])
        factor = np.concatenate([constant[j] * constant[k], constant])
        return (Layer(first[self._part], second[self._part], factor[self._part]),)

    @property
    def source(self) -> object:
        return self._whole

    @property
    def identity(self) -> str:
        if self.state is None:
            return super().identity
        state = hashlib.blake2b(np.ascontiguousarray(self.state).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, weights of at most {self.largest:g}, at the state {state}"

    def weights(self, rows: Rows, run: int) -> Array:
        if self.weigh is None or self.state is None:
            return super().weights(rows, run)
        return np.asarray(np.clip(self.weigh(rows.y - rows.x @ self.state[run]), 0.0, self.largest))

    def quadratic(self, answer: Array, n: Array) -> Quadratic:
        """Return Σ s (y - x'w)² of a released answer without its constant: w'Bw - 2A'w."""
        coefficients = self.objective.quadratic(answer, n)
        return Quadratic(coefficients.matrix, -2 * coefficients.linear)

    @property
    def matrix(self) -> WeightedMoments:
        """The query for the upper triangle of B alone."""
        return self._only(slice(self.objective.quadratic_size), "matrix")

    @property
    def vector(self) -> WeightedMoments:
        """The query for A alone."""
        return self._only(slice(self.objective.quadratic_size, None), "vector")

    def _only(self, part: slice, name: str) -> WeightedMoments:
        """Return the query for some of the coefficients, which shares the pass over the rows."""
        query = copy(self)
        query.name, query._part = f"{self.name}/{name}", part
        return query

    # -- the sensitivities -----------------------------------------------------------------------------------------

    @property
    def l1_bound(self) -> float:
        """sup ‖change‖₁ over neighbours (docs/sensitivities.md, convention matrix, σ = 1)."""
        return self.largest * self.objective.l1_bound("tight")

    @property
    def l2_bound(self) -> float:
        """sup (‖change of B‖_F² + ‖change of A‖²)^½ over neighbours, in the unit of :meth:`spread`.

        It is that of one row times the rows in which neighbours differ. Of one row:
        ‖xx' - x'x''‖_F² + ‖xy - x'y'‖² ≤ a² + a'² - 2c² + a + a' + 2|c|, where a, a' are the squared norms and c = <x, x'>.
        Ball: a, a' ≤ 1 leave 4 + 2|c| - 2c² ≤ 4.5, met at c = 1/2. Box: m numeric columns and G one-hot groups make a, a' ≤
        M = m + G. With u = (x + x')/2, v = (x - x')/2 and q = ‖u‖² - ‖v‖², S = ‖u‖² + ‖v‖² the change is at most
        2M² + 2M + 2q - 2q² - (M - S)(4S + 2). Corners have S = M and an integer q, so 2q - 2q² ≤ 0; a fraction f in one
        column gains a convex function of f that is not positive at f = 0 and 1. Hence 2M(M + 1), met at c = 0 or 1. Corner:
        at most four times the largest squared norm, met by equal rows with y = 1 and -1 (docs/sensitivities.md).
        """
        parts = self.objective.geometry.squared_norm
        squared = {"box": 2 * parts * (parts + 1), "ball": 4.5, "corner": 4 * parts}[self.objective.geometry.scaling]
        return self.objective.geometry.replaced_rows * self.largest * math.sqrt(squared)

    def spread(self, std: float) -> Array:
        """Return a standard deviation per coefficient, so that both triangles of B count: off the diagonal std/√2 ("GOE")."""
        j, k = self.objective.pairs
        return np.concatenate([np.where(j == k, std, std / math.sqrt(2)), np.full(self.objective.geometry.dimension, std)])
