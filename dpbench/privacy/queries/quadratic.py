"""Quadratic objectives w'Mw + c'w, one per run, and the repairs that make them bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Quadratic:
    """Stacks of objectives w'Mw + c'w: ``matrix`` (…, D, D) symmetric, ``linear`` (…, D). A single objective works as well."""

    matrix: Array
    linear: Array
    _eigen: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)
    """The spectrum, if it is known without a decomposition."""

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """The eigenvalues in increasing order, and the eigenvectors as columns."""
        return self._eigen or np.linalg.eigh(self.matrix)

    @cached_property
    def negligible(self) -> Array:
        """The size up to which an eigenvalue may be zero plus rounding: (…, 1)."""
        values, _ = self.spectrum
        return np.asarray(64 * values.shape[-1] * np.finfo(float).eps * np.abs(values).max(axis=-1, keepdims=True))

    @property
    def positive_definite(self) -> Array:
        """Whether each objective is bounded with a single minimiser: (…)."""
        return np.asarray((self.spectrum[0] > self.negligible).all(axis=-1))

    @property
    def bounded(self) -> Array:
        """Whether each objective has a minimum, if eigenvalues that rounding made negative count as zero: (…)."""
        return np.asarray((self.spectrum[0] >= -self.negligible).all(axis=-1))

    def for_run(self, run: int) -> Quadratic:
        """Return a stack of one objective."""
        of_run = slice(run, run + 1)
        values, vectors = self.spectrum
        return Quadratic(self.matrix[of_run], self.linear[of_run], (values[of_run], vectors[of_run]))

    def ridged(self, weight: Array | float, of: Array | None = None) -> Quadratic:
        """Return the objective plus weight · ‖w‖² of the coefficients where ``of`` is 1 (``weight``: (…) or a number)."""
        index = np.arange(self.linear.shape[-1])
        if np.ndim(weight) >= self.linear.ndim:
            allowed = f"a number, or one for each run: {self.linear.shape[:-1]}"
            raise ValueError(f"The weight of a ridge must be {allowed}. Got an array of the shape {np.shape(weight)} instead.")
        diagonal = np.asarray(weight)[..., None]
        matrix = self.matrix.copy()
        matrix[..., index, index] += diagonal * (np.ones(len(index)) if of is None else of)
        eigen = None
        if of is None and ("spectrum" in self.__dict__ or self._eigen is not None):
            values, vectors = self.spectrum
            eigen = (values + diagonal, vectors)  # a multiple of the identity moves eigenvalues only
        return Quadratic(matrix, self.linear, eigen)

    def rescaled(self, columns: Array) -> Quadratic:
        """Return the objective of u where w_j = q_j u_j, which is that of the columns q_j x_j (``columns``: (D,) or (…, D))."""
        if (columns == 1).all():
            return self
        return Quadratic(self.matrix * columns[..., :, None] * columns[..., None, :], self.linear * columns)

    def trimmed(self) -> Quadratic:
        """Return the objective without the directions whose eigenvalue is not positive (Zhang et al. 2012, section 6.2)."""
        values, _ = self.spectrum
        positive = values > self.negligible
        return self._with_eigenvalues(np.where(positive, values, 0.0), self._scaled_linear(positive))

    def floored(self, floor: Array | float) -> Quadratic:
        """Return the objective with eigenvalues raised to a floor (one for all runs, or one per run)."""
        values, _ = self.spectrum
        return self._with_eigenvalues(np.maximum(values, np.asarray(floor)[..., None]), self.linear)

    def minimiser(self) -> Array:
        """Return the minimiser of smallest norm, -½ M⁺c: a stationary point if M has negative eigenvalues: (…, D)."""
        values, _ = self.spectrum
        nonzero = np.abs(values) > self.negligible
        return -0.5 * self._scaled_linear(np.where(nonzero, 1 / np.where(nonzero, values, 1.0), 0.0))

    def _with_eigenvalues(self, values: Array, linear: Array) -> Quadratic:
        _, vectors = self.spectrum
        return Quadratic((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2), linear, (values, vectors))

    def _scaled_linear(self, factors: Array) -> Array:
        """Return the linear term with its part along each eigenvector multiplied by a factor."""
        _, vectors = self.spectrum
        return _times(vectors, factors * _times(np.swapaxes(vectors, -1, -2), self.linear))


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
