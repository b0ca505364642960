"""Second moments X'X, X't and t't of a table, the noise that makes all three one private answer, and back to a quadratic.

t is the target: y in [-1, 1], or 2y - 1 for y in {0, 1}. The noise is that of rows x/√S, which lie in the unit ball because S,
``geometry.squared_norm``, is public: the moments stay in the units of the design, and the noise is multiplied by S or √S.
docs/sensitivities.md derives the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpbench.data.geometry import Geometry
from dpbench.privacy.noise import Gaussian, Laplace, Noise
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.privacy.queries.polynomial import Loss, Polynomial, design_columns
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import Layer, MomentQuery

Array = np.ndarray
Block = Literal["xx", "xy", "yy"]
"""X'X, X't, and t't."""

WEIGHT = 0.75
"""The default t of :meth:`SecondMoments.gaussian`: the share of X'X in a joint release."""


@dataclass(frozen=True)
class SecondMoments(MomentQuery):
    """The upper triangle of X'X, then X't, then t't of each run, or some of these blocks.

    Public entries are not released: the products of two columns of one one-hot group, and n, to which the squares of the
    intercept and of a binary target add up. Where persons have several rows n is not public, so these squares are released.
    """

    geometry: Geometry
    blocks: tuple[Block, ...] = ("xx", "xy", "yy")
    name: str = "second_moments"
    proof = "the supremum over replace-one neighbours of rows in the unit ball (dpbench, docs/sensitivities.md)"

    def __post_init__(self) -> None:
        if not self.blocks or self.blocks != tuple(block for block in get_args(Block) if block in self.blocks):
            raise ValueError(
                f"The blocks must be some of {', '.join(get_args(Block))}, in this order. Got {self.blocks} instead."
            )

    @property
    def identity(self) -> str:
        return f"{super().identity}: {', '.join(self.blocks)}"

    @cached_property
    def objective(self) -> Polynomial:
        """The first two blocks as a polynomial: it decides which entries of X'X are released, and in which order."""
        slope = (0.0, 1.0) if self.geometry.target == "real" else (-1.0, 2.0)
        return Polynomial(Loss(1.0, slope, printed_slope=1.0, printed_constant=0.0), self.geometry, "matrix")

    @cached_property
    def _parts(self) -> dict[Block, slice]:
        """Where each block is in an answer."""
        released_square = self.geometry.target == "real" or not self.geometry.public_count
        lengths = {"xx": self.objective.quadratic_size, "xy": self.geometry.dimension, "yy": int(released_square)}
        parts, start = {}, 0
        for block in self.blocks:
            parts[block] = slice(start, start + lengths[block])
            start += lengths[block]
        return parts

    @property
    def size(self) -> int:
        return int(self._parts[self.blocks[-1]].stop)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        matrix, *vector, square = replace(self.objective, square=True).layers
        layers = {"xx": [matrix], "xy": vector, "yy": [square]}
        return tuple(
            replace(layer, start=part.start)
            for block, part in self._parts.items()
            for layer in layers[block]
            if part.stop > part.start
        )

    # -- from an answer to matrices ------------------------------------------------------------------------------------

    def matrix(self, answer: Array, n: Array) -> Array:
        """Return the released X'X, public entries filled in: (…, D, D)."""
        vector = np.zeros((*answer.shape[:-1], self.geometry.dimension))
        return self.objective.quadratic(np.concatenate([answer[..., self._parts["xx"]], vector], axis=-1), n).matrix

    def vector(self, answer: Array) -> Array:
        """Return the released X't: (…, D)."""
        return answer[..., self._parts["xy"]]

    def square(self, answer: Array, n: Array) -> Array:
        """Return the released t't, which is n for a binary target: (…)."""
        part = self._parts["yy"]
        return answer[..., part.start] if part.stop > part.start else n

    def quadratic(self, loss: Loss, answer: Array, n: Array) -> Quadratic:
        """Return the summed loss of a released answer, without its constant."""
        per_target = loss.per_target(self.geometry)
        if per_target is None:
            raise ValueError("A loss whose slope is not a multiple of the target needs the sums of the columns, too.")
        return Quadratic(loss.curvature * self.matrix(answer, n), per_target * self.vector(answer))

    def moments(self, answer: Array, noise: Noise, n: Array) -> NoisyMoments | None:
        """Return the moments that were released, and the noise of each entry; None without X'X or X't."""
        if self.blocks[:2] != ("xx", "xy"):
            return None
        released_square = self.size > self._parts["xy"].stop
        return replace(self.objective, square=released_square).moments(answer, noise, n)

    def floor(self, noise: Noise) -> float:
        """Return the largest eigenvalue that noise alone gives X'X: about 2 std √D, with the std off the diagonal."""
        scales = np.broadcast_to(noise.scale, (len(noise.scale), self.size))[:, self._parts["xx"]]
        if not scales.size:
            return 0.0
        return float(2 * math.sqrt(self.geometry.dimension) * np.sqrt(noise.law.variance(scales).min()))

    # -- the noise -----------------------------------------------------------------------------------------------------

    def gaussian(self, mu: float, weight: float = WEIGHT) -> Noise:
        """Return normal noise that makes an answer μ-GDP.

        For rows in the unit ball and a weight t its standard deviations times μ are 1/t off the diagonal of X'X, √2/t on it,
        1/√(t(1 - t)) on X't and 1/√(1 - t) on t't: t't costs nothing. A larger t takes noise from X'X and gives it to the target.
        A block alone gets its own supremum, whatever t: 1 (diagonal √2), 2 and 1.
        """
        if not 0.5 <= weight < 1:
            raise ValueError(f"The weight of X'X must be in [0.5, 1). Got {weight} instead.")
        stds: dict[Block, float] = {"xx": 1 / weight, "xy": (weight * (1 - weight)) ** -0.5, "yy": (1 - weight) ** -0.5}
        if len(self.blocks) == 1:
            stds = {"xx": 1.0, "xy": 2.0, "yy": 1.0}
        scale = self._scales(stds, math.sqrt(2), self.geometry.squared_norm) * math.sqrt(self._corner(weight)) / mu
        return Noise(Gaussian(), self.geometry.replaced_rows * scale, mu, self.proof)

    def _corner(self, weight: float) -> float:
        """Return the squared supremum in the corner, where rows have no negative value, relative to that in the ball."""
        if self.geometry.scaling != "corner" or self.blocks in (("xy",), ("yy",)):
            return 1.0
        if self.blocks == ("xx",):
            return 0.5
        return 4 * weight * (1 - weight) if weight <= 0.75 else 1.5 - weight

    def laplace(self, epsilon: float) -> Noise:
        """Return Laplace noise that makes an answer ε-DP: scales proportional to 1 on the squares and ½ on the products."""
        scale = self._scales({"xx": 0.5, "xy": 0.5, "yy": 1.0}, 2.0, 1.0) * self.l1_bound / epsilon
        return Noise(Laplace(), scale, epsilon, self.proof)

    @property
    def l1_bound(self) -> float:
        """sup ‖change‖₁ over neighbours, with both halves of the products of two different columns of (x, t) counted."""
        g = self.geometry
        if g.scaling == "ball":  # |t² - t'²| <= 1, and the rest is bounded by Cauchy-Schwarz
            return replace(self.objective, loss=_SQUARED, convention="monomial").l1_bound("tight") + g.replaced_rows
        columns, groups = g.numeric * g.value_range[1] + g.intercept + 1, len(g.groups)
        return g.replaced_rows * (columns**2 + 4 * groups * columns + 2 * groups**2)

    def _scales(self, per_block: dict[Block, float], diagonal: float, squared_norm: float) -> Array:
        """Return a scale per number: that of its block, ``diagonal`` times as much on X'X's, for rows x/√squared_norm."""
        j, k = self.objective.pairs
        blocks = {
            "xx": squared_norm * per_block["xx"] * np.where(j == k, diagonal, 1.0),
            "xy": np.full(self.geometry.dimension, math.sqrt(squared_norm) * per_block["xy"]),
            "yy": np.full(1, per_block["yy"]),
        }
        return np.concatenate([blocks[block][: part.stop - part.start] for block, part in self._parts.items()])


_SQUARED = Loss(1.0, (0.0, -2.0), printed_slope=2.0, printed_constant=1.0)
"""The squared error: its coefficients are x_j x_k and 2 x_j t, and those of a sign t are bounded alike."""


@dataclass(frozen=True)
class Gram(MomentQuery):
    """The upper triangle of X'X, row by row, public entries included: what a least eigenvalue is computed from."""

    geometry: Geometry
    name: str = "gram"

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        j, k = np.triu_indices(self.geometry.dimension)
        column, constant = design_columns(self.geometry)
        return (Layer(column[j], column[k], constant[j] * constant[k]),)
