"""The polynomial objective of the functional mechanism: its coefficients, their sensitivities, and back to a quadratic.

A model's loss, exact or truncated at order 2, is for each row

    constant(y) + curvature · (x'w)² + slope(y) · x'w,        slope(y) = slope[0] + slope[1] · y.

Linear regression has curvature 1 and slope -2y, logistic regression curvature 1/8 and slope ½ - y (Zhang et al. 2012, sections
4.2 and 5.1; the printed minus sign of the quadratic term is a typo). Weights do not need the constant; the sum of y², which
intervals need, is released where it costs nothing (:meth:`Polynomial.with_square`). Coefficients that are public under
replace-one neighbours are not released: that of the intercept with itself (it is n, unless a person has any number of rows up to
a limit) and the products of two columns of one one-hot group (they are 0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry
from dpbench.privacy.noise import Gaussian, Laplace, Noise
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import Layer, MomentQuery
from dpbench.privacy.queries.supremum import free_square_scale, supremum

Convention = Literal["monomial", "matrix", "code"]
SensitivityKey = Literal["tight", "published"]
"""What the command says of all mechanisms: each has the supremum, or the bound that its paper prints."""
Sensitivity = Literal["auto", "paper", "fang", "code", "tight"]
"""The rule that a bound follows: ``paper``, ``fang`` and ``code`` are printed (:meth:`Polynomial.l1_bound`), ``tight`` is the
supremum. ``auto`` is what the command's key says, and ``tight`` where there is no command."""


@dataclass(frozen=True)
class Loss:
    """A row's loss up to order 2, with the bounds that its sensitivities need."""

    curvature: float
    slope: tuple[float, float]
    printed_slope: float
    """The bound on abs(slope) that papers print: 2 (linear), 3/2 (logistic, where ½ suffices)."""
    printed_constant: float
    """The bound on the constant that the paper counts: 1 (linear: y²), 0 (logistic: log 2 does not depend on the row)."""
    exact: bool = True
    """Whether the polynomial is the loss itself rather than its truncation."""

    def per_target(self, geometry: Geometry) -> float | None:
        """Return the factor from t to the slope, t = y or, for y in {0, 1}, 2y - 1; None if the slope is not a multiple of t."""
        before, per_target = self.slope
        if geometry.target == "binary":  # y = (t + 1)/2
            before, per_target = before + per_target / 2, per_target / 2
        return None if before else per_target

    def largest_slope(self, geometry: Geometry) -> float:
        """Return the supremum of abs(slope(y)) over the target's range."""
        ends = (-1.0, 1.0) if geometry.target == "real" else (0.0, 1.0)
        return max(abs(self.slope[0] + self.slope[1] * y) for y in ends)


@dataclass(frozen=True)
class Polynomial(MomentQuery):
    """The coefficients of the summed objective as one query; ``convention`` selects which numbers are released.

    ``monomial``: one number for each monomial w_j w_k and w_j (Zhang et al. 2012, Algorithm 1);
    ``matrix``: the upper triangle of M and c (their section 6.1);
    ``code``: all D × D entries of M, made symmetric afterwards (as the authors' program does).
    """

    loss: Loss
    geometry: Geometry
    convention: Convention = "monomial"
    name: str = "objective"
    square: bool = False
    """Whether the query ends with t't, where t is y or, for y in {0, 1}, 2y - 1."""

    def __post_init__(self) -> None:
        if self.convention not in get_args(Convention):
            raise ValueError(f"The convention must be one of {', '.join(get_args(Convention))}. Got {self.convention!r} instead.")

    # -- the coefficients ------------------------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The released entries (j, k) of M, in the order of the query's first numbers."""
        size = self.geometry.dimension
        j, k = np.indices((size, size)).reshape(2, -1)
        keep = np.ones(size * size, dtype=bool) if self.convention == "code" else j <= k
        if self.geometry.intercept and self.geometry.public_count:
            keep &= (j > 0) | (k > 0)
        group = np.full(size, -1)
        for number, members in enumerate(self.geometry.groups):
            group[np.array(members) + self.geometry.intercept] = number
        keep &= (j == k) | (group[j] < 0) | (group[j] != group[k])
        return j[keep], k[keep]

    @cached_property
    def _weights(self) -> np.ndarray:
        """The factor from each entry of X'X to the released number: a monomial w_j w_k with j < k collects two entries."""
        j, k = self.pairs
        return self.loss.curvature * np.where((j != k) & (self.convention == "monomial"), 2.0, 1.0)

    @property
    def size(self) -> int:
        return len(self.pairs[0]) + self.geometry.dimension + self.square

    @property
    def identity(self) -> str:
        return f"{self.convention} coefficients of {self.loss}{' and the square' if self.square else ''}"

    @property
    def quadratic_size(self) -> int:
        """The number of released coefficients of M; they come first."""
        return len(self.pairs[0])

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        column, constant = design_columns(self.geometry)
        j, k = self.pairs
        target = np.full(len(column), self.geometry.features + 1)
        before, per_target = self.loss.slope
        last = np.array([self.geometry.features + 1 if self.geometry.target == "real" else 0])  # (2y - 1)² is 1
        return (
            Layer(column[j], column[k], self._weights * constant[j] * constant[k]),
            Layer(column, target, per_target * constant, self.quadratic_size),
            *([Layer(column, 0 * column, before * constant, self.quadratic_size)] if before else []),
            *([Layer(last, last, np.ones(1), self.size - 1)] if self.square else []),
        )

    def quadratic(self, coefficients: np.ndarray, n: np.ndarray) -> Quadratic:
        """Return the objective of released coefficients, with the public coefficients filled in."""
        j, k = self.pairs
        size = self.geometry.dimension
        matrix = np.zeros((*coefficients.shape[:-1], size, size))
        entries = coefficients[..., : self.quadratic_size]
        if self.convention == "monomial":
            entries = np.where(j == k, entries, entries / 2)
        matrix[..., j, k] = entries
        if self.convention == "code":
            matrix = (matrix + np.swapaxes(matrix, -1, -2)) / 2
        else:
            matrix[..., k, j] = entries
        if self.geometry.intercept and self.geometry.public_count:
            matrix[..., 0, 0] = self.loss.curvature * self.geometry.constant**2 * n
        return Quadratic(matrix, coefficients[..., self._linear])

    @property
    def _linear(self) -> slice:
        """Where the coefficients of c are in an answer."""
        return slice(self.quadratic_size, self.quadratic_size + self.geometry.dimension)

    def released_square(self, coefficients: np.ndarray) -> np.ndarray | None:
        """Return the released t't, None if the query does not end with it: (…)."""
        return coefficients[..., -1] if self.square else None

    def moments(self, coefficients: np.ndarray, noise: Noise, n: np.ndarray) -> NoisyMoments | None:
        """Return the moments that were released, and the noise of each entry.

        None if an entry's noise does not have the law of the released number: that of ``code`` is a mean of two draws, K-norm
        noise is drawn jointly, and only Laplace and normal noise keep their law if they are divided by a number. Neither are
        there moments if c is not a multiple of X't.
        """
        per_target, g = self.loss.per_target(self.geometry), self.geometry
        if self.convention == "code" or not isinstance(noise.law, Laplace | Gaussian) or not per_target:
            return None
        quadratic, (j, k) = self.quadratic(coefficients, n), self.pairs
        scale = np.broadcast_to(noise.scale, (len(noise.scale), self.size))
        matrix_scale = np.zeros((len(scale), g.dimension, g.dimension))
        matrix_scale[:, j, k] = matrix_scale[:, k, j] = scale[:, : self.quadratic_size] / self._weights
        square, square_scale = self.released_square(coefficients), self.released_square(scale)
        if g.target == "binary" and g.public_count:  # the squares of a sign add up to n
            square, square_scale = np.asarray(n, dtype=float), np.zeros(len(scale))
        matrix, vector = quadratic.matrix / self.loss.curvature, quadratic.linear / per_target
        vector_scale = scale[:, self._linear] / abs(per_target)
        return NoisyMoments(matrix, vector, square, noise.law, matrix_scale, vector_scale, square_scale)

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Return q_j q_k for each released coefficient of M and q_j for each of c, given a factor q_j per column: (…, size).

        The target has the factor 1.
        """
        j, k = self.pairs
        return np.concatenate(
            [columns[..., j] * columns[..., k], columns, np.ones((*columns.shape[:-1], int(self.square)))], axis=-1
        )

    def scales(self, quadratic: float, linear: float) -> np.ndarray:
        """Return scales in the order of the query: one value for all coefficients of M and one for those of c.

        The scale of y'y is the least at which it is free, whatever the two are.
        """
        blocks = [np.full(self.quadratic_size, quadratic), np.full(self.geometry.dimension, linear)]
        if self.square:
            blocks.append(np.full(1, free_square_scale(self.geometry, quadratic, linear)))
        return np.concatenate(blocks)

    def quadratic_variance(self, noise: Noise) -> np.ndarray:
        """Return the variance of the noise on M's coefficients: (1 | runs, coefficients of M)."""
        variance = noise.law.variance(noise.scale)
        return np.broadcast_to(variance, (len(variance), self.size))[:, : self.quadratic_size]

    def off_diagonal_std(self, noise: Noise) -> np.ndarray:
        """Return the largest standard deviation of M's off-diagonal entries (at D = 1: of its entry): (1 | runs,)."""
        variance = self.quadratic_variance(noise)
        j, k = self.pairs
        quadratic = variance[:, j != k]
        if not quadratic.size:
            return np.asarray(np.sqrt(variance.max(axis=1)))
        # a monomial's coefficient is twice the entry; the two draws of the authors' program are averaged
        share = {"monomial": 0.25, "matrix": 1.0, "code": 0.5}[self.convention]
        return np.asarray(np.sqrt(share * quadratic.max(axis=1)))

    # -- the sensitivities -----------------------------------------------------------------------------------------

    def with_square(self) -> Polynomial:
        """Return the query that ends with y'y where this costs nothing, otherwise the same query.

        It is free for the squared error in the box: the suprema of the other coefficients are also those with y², if its scale is
        at least that of :meth:`scales` (docs/sensitivities.md). One scale for all numbers is, whatever factors columns have.
        """
        return replace(self, square=True) if self._square_is_free else self

    @property
    def _square_is_free(self) -> bool:
        g, loss = self.geometry, self.loss
        squared_error = loss.curvature == 1 and loss.slope == (0, -2)
        return squared_error and g.scaling == "box" and g.target == "real" and g.dimension > 0

    def l1_bound(self, sensitivity: Sensitivity, quadratic: float = 1.0, linear: float = 1.0) -> float:
        """Return sup ‖change / scale‖₁ over neighbours, for one scale on M's coefficients and one on c's.

        Neighbours differ in one row, or in all rows of a person: then it is that many times the supremum for one row, which may
        also be missing on either side (docs/sensitivities.md). With y'y, its scale is that of :meth:`scales`, or larger.
        """
        rows = self.geometry.replaced_rows
        size, curvature, per_linear = self.geometry.dimension, self.loss.curvature / quadratic, 1 / linear
        tight = rows * float(self._supremum(curvature, per_linear, np.ones(size)))
        if sensitivity in ("auto", "tight"):
            return tight
        # linear: 2(D+1)² with the constant y² ("paper"), 2D² + 4D without it ("fang", "code"); logistic: D²/4 + 3D ("paper",
        # "fang"), D²/4 + D ("code", which has |½ - y| = ½). D counts every noised column, the intercept included.
        slope = self.loss.largest_slope(self.geometry) if sensitivity == "code" else self.loss.printed_slope
        norm = 2 * (curvature * size**2 + slope * per_linear * size)
        bound = rows * (norm + 2 * self.loss.printed_constant if sensitivity == "paper" else norm)
        if bound < tight * (1 - 1e-12):
            raise Refused(f"sensitivity={sensitivity} gives {bound:g} here, but neighbours can change the answer by {tight:g}.")
        return bound

    def rescaled_bound(self, columns: np.ndarray) -> np.ndarray:
        """Return sup ‖change‖₁ when column j of the design is multiplied with q_j > 0 (``columns``: (…, D)): (…)."""
        return self.geometry.replaced_rows * self._supremum(self.loss.curvature, 1.0, columns)

    @property
    def ranges(self) -> np.ndarray:
        """Return how far each coefficient can move between neighbours: (size,)."""
        g, (j, k) = self.geometry, self.pairs
        largest = np.full(g.dimension, g.value_range[1])
        signed = np.full(g.dimension, g.value_range[0] < 0)
        for members in g.groups:
            largest[np.array(members) + g.intercept], signed[np.array(members) + g.intercept] = 1.0, False
        largest[: int(g.intercept)], signed[: int(g.intercept)] = g.constant, False
        products = largest[j] * largest[k] * np.where((j != k) & (signed[j] | signed[k]), 2.0, 1.0)
        if g.scaling == "ball":  # x_j² is at most 1, and x_j x_k lies between -1/2 and 1/2
            products, largest = np.ones(len(j)), np.ones(g.dimension)
        linear = 2 * self.loss.largest_slope(g) * largest
        return np.asarray(g.replaced_rows * np.concatenate([self._weights * products, linear, np.ones(int(self.square))]))

    def proof(self, sensitivity: Sensitivity) -> str:
        """Return the text for the ledger that says why a bound holds."""
        return {
            "paper": "twice the largest L1 norm of a row's coefficients, as printed (Zhang et al. 2012, Lemma 1 and section 4.2)",
            "fang": "twice the largest L1 norm of a row's coefficients, the constant left out (Fang et al. 2019)",
            "code": "twice the largest L1 norm of a row's coefficients, the constant left out (the program of Zhang et al.)",
        }.get(sensitivity, "the supremum over replace-one neighbours in this geometry (dpbench, docs/sensitivities.md)")

    def _supremum(self, curvature: float, per_linear: float, columns: np.ndarray) -> np.ndarray:
        """Return the supremum for one row that is replaced, or that is missing on one side where persons have several."""
        if self.square and not self._square_is_free:
            raise ValueError("The bounds include y'y for the squared error in the box alone.")
        slope = self.loss.largest_slope(self.geometry) * per_linear
        return supremum(self.geometry, self.convention == "matrix", curvature, slope, columns)


def design_columns(geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Return which column of z = (1, features, target) each column of the design is, and the factor between the two."""
    constant = np.ones(geometry.dimension)
    constant[: int(geometry.intercept)] = geometry.constant
    return np.arange(geometry.dimension) + (not geometry.intercept), constant
