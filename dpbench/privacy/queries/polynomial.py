"""The polynomial objective of the functional mechanism: its coefficients, their sensitivities, and back to a quadratic.

A model's loss, exact or truncated at order 2, is for each row

    constant(y) + curvature · (x'w)² + slope(y) · x'w,        slope(y) = slope[0] + slope[1] · y.

Linear regression has curvature 1 and slope -2y, logistic regression curvature 1/8 and slope ½ - y (Zhang et al. 2012, sections
4.2 and 5.1; the printed minus sign of the quadratic term is a typo). The constant is never needed, so it is never released.
Neither are coefficients that are public under replace-one neighbours: that of the intercept with itself (it is n, unless a person
has any number of rows up to a limit) and the products of two columns of one one-hot group (they are 0).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.geometry import Geometry
from dpbench.privacy.noise import Noise
from dpbench.privacy.queries.quadratic import Quadratic
from dpbench.privacy.queries.query import Layer, MomentQuery

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
    """The bound on |slope| that papers print: 2 (linear), 3/2 (logistic, where ½ suffices)."""
    printed_constant: float
    """The bound on the constant that the paper counts: 1 (linear: y²), 0 (logistic: log 2 does not depend on the row)."""
    exact: bool = True
    """Whether the polynomial is the loss itself rather than its truncation."""

    def largest_slope(self, geometry: Geometry) -> float:
        """Return the supremum of |slope(y)| over the target's range."""
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
        return len(self.pairs[0]) + self.geometry.dimension

    @property
    def identity(self) -> str:
        return f"{self.convention} coefficients of {self.loss}"

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
        return (
            Layer(column[j], column[k], self._weights * constant[j] * constant[k]),
            Layer(column, target, per_target * constant, self.quadratic_size),
            *([Layer(column, 0 * column, before * constant, self.quadratic_size)] if before else []),
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
        return Quadratic(matrix, coefficients[..., self.quadratic_size :])

    def products(self, columns: np.ndarray) -> np.ndarray:
        """Return q_j q_k for each released coefficient of M and q_j for each of c, given a factor q_j per column: (…, size)."""
        j, k = self.pairs
        return np.concatenate([columns[..., j] * columns[..., k], columns], axis=-1)

    def scales(self, quadratic: float, linear: float) -> np.ndarray:
        """Return scales in the order of the query: one value for all coefficients of M and one for those of c."""
        return np.concatenate([np.full(self.quadratic_size, quadratic), np.full(self.geometry.dimension, linear)])

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

    def l1_bound(self, sensitivity: Sensitivity, quadratic: float = 1.0, linear: float = 1.0) -> float:
        """Return sup ‖change / scale‖₁ over neighbours, for one scale on M's coefficients and one on c's.

        Neighbours differ in one row, or in all rows of a person: then it is that many times the supremum for one row, which may
        also be missing on either side (docs/sensitivities.md).
        """
        rows = self.geometry.replaced_rows
        size, curvature, per_linear = self.geometry.dimension, self.loss.curvature / quadratic, 1 / linear
        supremum = rows * float(self._supremum(curvature, per_linear, np.ones(size)))
        if sensitivity in ("auto", "tight"):
            return supremum
        # linear: 2(D+1)² with the constant y² ("paper"), 2D² + 4D without it ("fang", "code"); logistic: D²/4 + 3D ("paper",
        # "fang"), D²/4 + D ("code", which has |½ - y| = ½). D counts every noised column, the intercept included.
        slope = self.loss.largest_slope(self.geometry) if sensitivity == "code" else self.loss.printed_slope
        norm = 2 * (curvature * size**2 + slope * per_linear * size)
        bound = rows * (norm + 2 * self.loss.printed_constant if sensitivity == "paper" else norm)
        if bound < supremum * (1 - 1e-12):
            raise Refused(
                f"sensitivity={sensitivity} gives {bound:g} here, but neighbours can change the answer by {supremum:g}."
            )
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
        return np.asarray(g.replaced_rows * np.concatenate([self._weights * products, linear]))

    def proof(self, sensitivity: Sensitivity) -> str:
        """Return the text for the ledger that says why a bound holds."""
        return {
            "paper": "twice the largest L1 norm of a row's coefficients, as printed (Zhang et al. 2012, Lemma 1 and section 4.2)",
            "fang": "twice the largest L1 norm of a row's coefficients, the constant left out (Fang et al. 2019)",
            "code": "twice the largest L1 norm of a row's coefficients, the constant left out (the program of Zhang et al.)",
        }.get(sensitivity, "the supremum over replace-one neighbours in this geometry (dpbench, docs/sensitivities.md)")

    def _supremum(self, curvature: float, per_linear: float, columns: np.ndarray) -> np.ndarray:
        """Return the supremum for one row that is replaced, or that is missing on one side where persons have several."""
        bound = {"box": self._box, "ball": self._ball, "corner": self._corner}[self.geometry.scaling]
        return np.asarray(bound(curvature, self.loss.largest_slope(self.geometry) * per_linear, columns))

    def _box(self, curvature: float, slope: float, columns: np.ndarray) -> np.ndarray:
        """Return the supremum in the box (docs/sensitivities.md derives it).

        With u = (z + z')/2, v = (z - z')/2, |u_j| + |v_j| <= q_j, every change is 2(u_j v_l + v_j u_l). It depends on
        p = sum |u_j| over the m numeric columns. With P = sum q_j over them, and c the intercept's factor, products of
        different columns give 2(UV - sum u_j v_j), each counted ``twice`` or once, squares give 4 sum u_j v_j, the linear part
        2 slope max(U, V), where U = p + c and V = P - p, and sum u_j v_j is at most sum q_j² / 4 - (p - P/2)² / m. The whole is
        concave in p on either side of U = V.
        """
        twice = 1.0 if self.convention == "matrix" else 2.0
        g = self.geometry if self.geometry.public_count else self.geometry.with_private_intercept()
        features, constant = columns[..., g.intercept :], columns[..., : g.intercept].sum(axis=-1)
        numeric = np.delete(features, [member for members in g.groups for member in members], axis=-1)
        m, total, squared = max(g.numeric, 1), numeric.sum(axis=-1), np.square(numeric).sum(axis=-1)

        def change(p: np.ndarray) -> np.ndarray:
            u, v = p + constant, total - p
            overlap = squared / 4 - np.square(p - total / 2) / m
            return np.asarray(curvature * (2 * twice * u * v + (4 - 2 * twice) * overlap) + 2 * slope * np.maximum(u, v))

        # candidates for the maximum: the stationary points of both branches, the point where they meet, and the ends
        bend = 2 * (twice + (2 - twice) / m)
        middle = twice * (total - constant) + (2 - twice) * total / m
        turns = [(middle + slope / curvature) / bend, (middle - slope / curvature) / bend, (total - constant) / 2]
        numeric_part = np.max([change(np.clip(p, 0, total)) for p in (*turns, 0 * total, total)], axis=0)
        # one-hot columns hold 0 or 1, with a single 1 in each group: a change of level moves two columns
        level = np.stack([features[..., members].max(axis=-1) for members in g.groups], axis=-1) if g.groups else np.zeros(1)
        groups, squares = level.sum(axis=-1), np.square(level).sum(axis=-1)
        across = 2 * twice * groups * (total + constant)
        within = 2 * squares + twice * (groups**2 - squares)
        return np.asarray(numeric_part + curvature * (across + within) + 2 * slope * groups)

    def _corner(self, curvature: float, slope: float, columns: np.ndarray) -> np.ndarray:
        """Return the supremum in the corner: the box's, of columns multiplied with the corner's side (docs/sensitivities.md).

        The rows are among those of that box, and a pair that attains its supremum without an intercept has no negative value:
        the larger of U and V may be taken to be U, so p >= P/2, and x' = 2u - q >= 0 where x = q.
        """
        return self._box(curvature, slope, columns * self.geometry.value_range[1])

    def _ball(self, curvature: float, slope: float, columns: np.ndarray) -> np.ndarray:
        """Return a bound on the supremum in the ball, by Cauchy-Schwarz for each block.

        It is the maximum over c = <x, x'> of curvature · ‖q‖² sqrt(2(1 - c²)) + slope · ‖q‖ sqrt(2(1 + c)). With c = 1 - 2t² that
        is sqrt(1 - t²) (2at + b), whose maximum solves 4a t² + b t = 2a.
        """
        squared = np.square(columns).sum(axis=-1)
        # the upper triangle alone counts half of the off-diagonal, and all of the diagonal (at most 2)
        part, rest = (0.5, np.square(columns).max(axis=-1, initial=0.0)) if self.convention == "matrix" else (1.0, 0.0)
        a, b = curvature * part * np.sqrt(2) * squared, 2 * slope * np.sqrt(squared)
        t = 4 * a / np.maximum(b + np.sqrt(b * b + 32 * a * a), np.finfo(float).tiny)
        return np.asarray((np.sqrt(1 - t * t) * (2 * a * t + b) + curvature * rest) * (1 + 1e-12))


def design_columns(geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """Return which column of z = (1, features, target) each column of the design is, and the factor between the two."""
    constant = np.ones(geometry.dimension)
    constant[: int(geometry.intercept)] = geometry.constant
    return np.arange(geometry.dimension) + (not geometry.intercept), constant
