"""The regression that noisy second moments imply, with the covariance that their noise gives its estimate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.privacy.noise import Law
from dpbench.privacy.queries.noisy_moments import NoisyMoments
from dpbench.privacy.queries.quadratic import Quadratic

Array = np.ndarray

LARGEST_VARIANCE = 1.0
"""The largest variance of a target in [-1, 1]."""


@dataclass(frozen=True)
class NoisyRegression:
    """Least squares on noisy sums Q = X'X + E and c = X't + e of columns whose noise is even.

    A mechanism may give some columns more noise than others. The columns are multiplied with ``columns`` then, so that one floor
    suits all directions; the estimate is that of the multiplied columns.
    """

    matrix: Array
    """Q: (runs, D, D)."""
    vector: Array
    """c: (runs, D)."""
    square: Array | None
    """t't with noise: (runs,)."""
    law: Law
    matrix_scale: Array
    """(1 | runs, D, D), symmetric; 0 where an entry is public."""
    vector_scale: Array
    """(1 | runs, D)"""
    columns: Array
    """(1 | runs, D)"""
    square_scale: Array | None = None
    """(1 | runs,)"""
    objective: Quadratic | None = None
    """An objective that may have the same matrix: then its spectrum need not be computed again."""
    around: Array | None = None
    """The noise of c holds E times these weights, so that E moves the estimate by -Q⁻¹E(β - around): (runs, D). None: 0."""

    @classmethod
    def of(cls, moments: NoisyMoments, objective: Quadratic | None = None, around: Array | None = None) -> NoisyRegression:
        """Return the regression of released moments, on columns whose noise is even."""
        noise = moments.vector_scale
        columns = noise.min(axis=1, keepdims=True) / noise
        both = columns[:, :, None] * columns[:, None, :]
        sums = moments.matrix * both, moments.vector * columns
        scales = moments.matrix_scale * both, noise * columns
        around = None if around is None else around / columns
        return cls(*sums, moments.square, moments.law, *scales, columns, moments.square_scale, objective, around)

    @property
    def size(self) -> int:
        """D."""
        return int(self.vector.shape[1])

    @cached_property
    def matrix_variance(self) -> Array:
        """V: the variance of each entry of E."""
        return np.where(self.matrix_scale > 0, self.law.variance(np.where(self.matrix_scale > 0, self.matrix_scale, 1.0)), 0.0)

    @cached_property
    def vector_variance(self) -> Array:
        """The variance of each entry of e."""
        return self.law.variance(self.vector_scale)

    @cached_property
    def floor(self) -> Array:
        """The floor of Q's eigenvalues, std_off √D: half the size of the noise alone (1 | runs,).

        The floor of a fit is twice as high: that is best for predictions, and ruins intervals where it is active.
        """
        off = self.matrix_variance * ~np.eye(self.size, dtype=bool)
        # where no product of two columns has noise, as within one one-hot group, that of the squares counts
        counted = off if off.any() else self.matrix_variance
        return np.asarray(np.sqrt(counted.max(axis=(1, 2)) * self.size))

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        if self.objective is not None and np.array_equal(self.objective.matrix, self.matrix):
            return self.objective.spectrum
        return np.linalg.eigh(self.matrix)

    @cached_property
    def floored(self) -> Array:
        """In which runs the floor is active: (runs,)."""
        return np.asarray(self._spectrum[0][:, 0] < self.floor)

    @cached_property
    def eigen(self) -> tuple[Array, Array]:
        """The eigenvalues of Q, raised to the floor, and its eigenvectors as columns."""
        values, vectors = self._spectrum
        return np.maximum(values, np.maximum(self.floor, np.finfo(float).tiny)[:, None]), vectors

    @cached_property
    def definite(self) -> Array:
        """Q with its eigenvalues raised: (runs, D, D)."""
        values, vectors = self.eigen
        return np.asarray((vectors * values[:, None, :]) @ np.swapaxes(vectors, 1, 2))

    @cached_property
    def inverse(self) -> Array:
        """Its inverse."""
        values, vectors = self.eigen
        return np.asarray((vectors / values[:, None, :]) @ np.swapaxes(vectors, 1, 2))

    @cached_property
    def estimate(self) -> Array:
        """β: (runs, D)."""
        return np.asarray((self.inverse @ self.vector[:, :, None])[:, :, 0])

    # -- what the noise does to the estimate -------------------------------------------------------------------------

    @cached_property
    def _multiplied(self) -> Array:
        """What E is multiplied with where it moves the estimate: β, or its distance from ``around``."""
        return self.estimate if self.around is None else self.estimate - self.around

    @cached_property
    def _products(self) -> Array:
        """The products of the true coefficients, estimated: ββ', minus the noise that β carries, if no floor has shrunk it.

        Without this, noise in β would count twice: coverage was .98 in place of .95 where noise is as large as the signal.
        """
        plain = self._multiplied[:, :, None] * self._multiplied[:, None, :]
        of_noise = self.inverse @ self._noise(plain) @ self.inverse
        return np.asarray(plain - np.where(self.floored, 0.0, 1.0)[:, None, None] * of_noise)

    def _noise(self, products: Array) -> Array:
        """Return C, the covariance of e - Eβ (ALGORITHMS 12.1, for any scales): (runs, D, D).

        E_jk = E_kj, so rows j and k of Eβ share V_jk β_j β_k; on the diagonal are the sums of V_jk β_k², which may not be
        negative, and the variance of e_j.
        """
        squares = np.einsum("rii->ri", products)
        index = np.arange(self.size)
        covariance = self.matrix_variance * products
        covariance[:, index, index] = self.vector_variance + np.maximum((self.matrix_variance @ squares[:, :, None])[..., 0], 0.0)
        return np.asarray(covariance)

    @cached_property
    def noise_covariance(self) -> Array:
        """C at the estimated coefficients."""
        return self._noise(self._products)

    @cached_property
    def privacy_covariance(self) -> Array:
        """The covariance of the estimate around the one without noise, Q⁻¹CQ⁻¹: at least what the noise on c alone gives."""
        least = (self.inverse * self.vector_variance[:, None, :]) @ self.inverse
        return _at_least(self.inverse @ self.noise_covariance @ self.inverse, least)

    @cached_property
    def floor_bias(self) -> Array:
        """Return an allowance for what the floor f hides, as a covariance: (runs, D, D), 0 where no floor is active.

        Along an eigenvector whose eigenvalue is λ < f the estimate is shrunk by the factor λ/f. How large the coefficient is
        there cannot be known. It is taken to be at most √(R/f), with which this direction alone would explain R, all that the
        fit explains, if its eigenvalue were f. A variance of R/4f gives a 95 % interval this reach. The noise of the estimate β'c
        of R is allowed for with two standard errors: without them, a coefficient of ``boosted_adassp`` was covered .74 of the
        time.
        """
        values, vectors = self._spectrum
        floor = np.maximum(self.floor, np.finfo(float).tiny)[:, None]
        # mechanisms that do not release t't estimate R worse: there eigenvalues up to twice the floor count
        hidden = np.clip((2.0 if self.square is None else 1.0) - values / floor, 0.0, 1.0)
        # a column that was multiplied with q < 1, to even out the noise, has a coefficient that is 1/q times as large
        shares = (np.square(self.columns)[:, None, :] @ np.square(vectors))[:, 0, :]
        explained = np.maximum(np.einsum("ri,ri->r", self.estimate, self.vector), 0.0)
        explained = (explained + 2 * np.sqrt(self._explained_variance))[:, None]
        variances = np.square(hidden) * explained / (4 * floor * shares)
        return np.asarray((vectors * variances[:, None, :]) @ np.swapaxes(vectors, 1, 2))

    @cached_property
    def fourth_cumulant(self) -> Array:
        """The fourth cumulant of each estimate, to first order in the noise; 0 for normal noise: (runs, D).

        Estimate j moves with E_kl, k < l, by -(q_k β_l + q_l β_k), with E_kk by -q_k β_k and with e_k by q_k, where q is row j of
        Q⁻¹. The sums of fourth powers are written out, so that no array has an axis for every entry of E.
        """
        if not self.law.excess_kurtosis:
            return np.zeros_like(self.estimate)
        squares = np.maximum(np.einsum("rii->ri", self._products), 0.0)
        b = np.sign(self._multiplied) * np.sqrt(squares)
        q, w = self.inverse, np.broadcast_to(np.square(self.matrix_variance), self.matrix.shape)
        diagonal = np.einsum("rii->ri", w)
        off = w * ~np.eye(self.size, dtype=bool)

        def pairs(left: Array, right: Array) -> Array:
            # a product of matrices first: to say so is faster than to let NumPy find it each time
            return np.asarray(np.einsum("rjk,rkl,rjl->rj", left, off, right, optimize=["einsum_path", (0, 1), (0, 1)]))

        along = b[:, None, :]
        # products of squares: a fourth power of negative numbers takes thirty times longer
        squared, squared_along = np.square(q), np.square(along)
        fourth, both = np.square(squared), squared * squared_along
        across = pairs(fourth, np.broadcast_to(np.square(squared_along), q.shape))
        across = across + 4 * pairs(squared * q * along, squared_along * along * q) + 3 * pairs(both, both)
        own = np.einsum("rjk,rk->rj", fourth, diagonal * np.square(np.square(b)) + np.square(self.vector_variance))
        return np.asarray(self.law.excess_kurtosis * (across + own))

    @cached_property
    def _explained_variance(self) -> Array:
        """The variance that the noise gives 2β'c - β'Qβ, what the fit explains, to first order: that of 2β'e - β'Eβ. (runs,)"""
        squares = np.square(self.estimate)
        of_vector = 4 * (squares * self.vector_variance).sum(axis=1)
        # each entry off the diagonal counts twice in β'Eβ, and is there twice
        of_matrix = 2 * np.einsum("rj,rjk,rk->r", squares, self.matrix_variance + np.zeros_like(self.matrix), squares)
        return np.asarray(of_vector + of_matrix - (np.square(squares) * np.einsum("rjj->rj", self.matrix_variance)).sum(axis=1))

    def residual_variance(self, n: Array, corrected: bool = True) -> Array:
        """Return the variance of the residuals, within the target's range; the largest possible one if t't was not released.

        The noise of Q and c lowers the sum of squares by tr(Q⁻¹C) on average, which is added back.
        """
        if self.square is None:
            return np.full(len(n), LARGEST_VARIANCE)
        explained = np.einsum("ri,ri->r", self.estimate, self.vector)
        left = self.square - 2 * explained + np.einsum("ri,rij,rj->r", self.estimate, self.definite, self.estimate)
        if corrected:
            left = left + np.einsum("rij,rji->r", self.inverse, self.noise_covariance)
        return np.asarray(np.clip(left / np.maximum(n - self.size, 1), 0.0, LARGEST_VARIANCE))

    def residual_variance_error(self, n: Array) -> Array | None:
        """Return the standard deviation that noise gives the residual variance; None if that of t't's noise is not known.

        β minimises the sum of squares, so that noise moves it by e_tt - 2β'e + β'Eβ to first order, and by -(e - Eβ)'Q⁻¹(e - Eβ)
        to second order, whose variance is 2 tr((Q⁻¹C)²). Without t't the variance is a bound, which has no noise.
        """
        if self.square is None:
            return np.zeros(len(n))
        if self.square_scale is None:
            return None
        of_square = np.where(
            self.square_scale > 0, self.law.variance(np.where(self.square_scale > 0, self.square_scale, 1.0)), 0.0
        )
        change = self.inverse @ self.noise_covariance
        second_order = 2 * np.einsum("rij,rji->r", change, change)
        return np.asarray(np.sqrt(of_square + self._explained_variance + second_order) / np.maximum(n - self.size, 1))


def _at_least(matrix: Array, least: Array) -> Array:
    """Return the symmetric matrix plus what it lacks: no direction has less variance than in ``least``."""
    values, vectors = np.linalg.eigh((matrix + np.swapaxes(matrix, 1, 2)) / 2 - least)
    return np.asarray(least + (vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2))
