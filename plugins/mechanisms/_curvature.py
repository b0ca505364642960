"""The query for the curvature of a loss: X'SX with a weight for each row, at each run's own weights."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Gaussian, Noise
from dpbench.privacy.queries.polynomial import Loss, Polynomial, design_columns
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import Layer, MomentQuery

Shape = Literal["bound", "hessian"]
_NEAR_ZERO = 1e-4
"""Below this |x'w| the quotient of slope and x'w is its limit, the largest curvature, up to 1e-9."""
_PRODUCTS = Loss(curvature=1.0, slope=(0.0, 1.0), printed_slope=1.0, printed_constant=0.0)


@dataclass(eq=False)
class CurvatureMatrix(MomentQuery):
    """The upper triangle of X'SX for a loss of y in {0, 1}, where S holds a weight for each row from 0 to the largest curvature.

    The weight is taken under the run's own ``state`` w, (runs, D). It is the second derivative of the row's loss along x'w
    (``hessian``), or the curvature of the parabola that touches the loss at x'w and lies above it everywhere (``bound``).
    Products of two columns of one one-hot group are zero and not released.
    """

    geometry: Geometry
    problem: Any
    """A problem with ``gradient``, ``curvature`` and ``largest_curvature``."""
    state: np.ndarray
    shape: Shape = "bound"
    name: str = "curvature"
    weighted = True
    proof = "√2 times the largest curvature (dpbench, docs/sensitivities.md)"

    @cached_property
    def products(self) -> Polynomial:
        """The products as a polynomial: it decides which are released. As rows have weights, the intercept's square is one."""
        return Polynomial(_PRODUCTS, self.geometry.with_private_intercept(), "matrix")

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        column, constant = design_columns(self.geometry)
        j, k = self.products.pairs
        return (Layer(column[j], column[k], constant[j] * constant[k]),)

    @property
    def identity(self) -> str:
        state = hashlib.blake2b(np.ascontiguousarray(self.state).tobytes(), digest_size=8).hexdigest()
        return f"{super().identity}, {self.shape}, at the state {state}"

    def weights(self, rows: Rows, run: int) -> np.ndarray:
        largest = self.problem.largest_curvature
        if self.shape == "hessian":
            weights = self.problem.curvature(rows.x, rows.y, self.state[run])
        else:
            # with y = ½ the linear term is gone, and the loss is even: for logistic regression tanh(x'w/2)/(2x'w)
            score = rows.x @ self.state[run]
            far = np.abs(score) > _NEAR_ZERO
            slope = self.problem.gradient(rows.x, np.full(rows.n, 0.5), self.state[run])
            weights = np.divide(slope, score, out=np.full(rows.n, largest), where=far)
        return np.asarray(np.clip(weights, 0.0, largest))

    def noise(self, mu: float) -> Noise:
        """Return normal noise that makes an answer μ-GDP. Off the diagonal its std is smaller by √2, as entries count twice."""
        j, k = self.products.pairs
        std = math.sqrt(2) * self._largest_row / mu
        return Noise(Gaussian(), np.where(j == k, std, std / math.sqrt(2)), mu, self.proof)

    def largest_of_noise(self, mu: float) -> float:
        """Return the largest eigenvalue that noise alone makes: about 2 std √D, with the std off the diagonal."""
        return 2 * math.sqrt(self.geometry.dimension) * self._largest_row / mu

    def quadratic(self, answer: np.ndarray, gradient: np.ndarray) -> Quadratic:
        """Return ½ d'Hd + g'd of a released H and a gradient g, for moves d of the weights."""
        both = self.products.quadratic(np.concatenate([answer, gradient], axis=-1), np.zeros(len(answer)))
        return Quadratic(both.matrix / 2, both.linear)

    @property
    def _largest_row(self) -> float:
        """The largest Frobenius norm of what the rows that neighbours replace add."""
        return float(self.problem.largest_curvature * self.geometry.squared_norm * self.geometry.replaced_rows)
