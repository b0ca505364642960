"""Quadratic objectives w'Mw + c'w, one a run, and the repairs that make them bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Quadratic:
    """Stacks of objectives w'Mw + c'w: ``matrix`` (…, D, D) symmetric, ``linear`` (…, D). Works on a single one as well."""

    matrix: Array
    linear: Array
    _known: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues in rising order, and eigenvectors as columns."""
        if self._known is not None:
            return self._known
        values, vectors = np.linalg.eigh(self.matrix)
        return values, vectors

    @cached_property
    def negligible(self) -> Array:
        """What rounding alone can make of a zero eigenvalue: (…, 1)."""
        values, _ = self.spectrum
        size = values.shape[-1]
        return np.asarray(64 * size * np.finfo(float).eps * np.abs(values).max(axis=-1, keepdims=True))

    @property
    def positive_definite(self) -> Array:
        """Whether each objective is bounded with a single minimiser: (…)."""
        return np.asarray((self.spectrum[0] > self.negligible).all(axis=-1))

    @property
    def bounded(self) -> Array:
        """Whether each objective has a minimum, up to what rounding leaves of a flat direction: (…)."""
        return np.asarray((self.spectrum[0] >= -self.negligible).all(axis=-1))

    def ridged(self, weight: Array | float, of: Array | None = None) -> Quadratic:
        """Plus weight · ‖w‖² (``weight`` a number or one a run), of the coefficients where ``of`` is 1."""
        size = self.linear.shape[-1]
        diagonal = np.asarray(weight)[..., None] * (np.ones(size) if of is None else of)
        matrix = self.matrix.copy()
        index = np.arange(size)
        matrix[..., index, index] += diagonal
        known = None
        if of is None and ("spectrum" in self.__dict__ or self._known is not None):
            values, vectors = self.spectrum
            known = (values + np.asarray(weight)[..., None], vectors)  # a multiple of the identity moves eigenvalues only
        return Quadratic(matrix, self.linear, known)

    def rescaled(self, columns: Array) -> Quadratic:
        """The objective of u where w_j = q_j u_j (``columns``: (D,) or (…, D)): that of the columns q_j x_j."""
        if (columns == 1).all():
            return self
        return Quadratic(self.matrix * columns[..., :, None] * columns[..., None, :], self.linear * columns)

    def trimmed(self) -> Quadratic:
        """Without the directions whose eigenvalue is not positive (Zhang et al. 2012, section 6.2)."""
        values, _ = self.spectrum
        kept = values > self.negligible
        return self._from(np.where(kept, values, 0.0), self._within(kept))

    def floored(self, floor: Array | float) -> Quadratic:
        """Eigenvalues raised to a floor (one a run, or one for all): post-processing, free of budget."""
        values, _ = self.spectrum
        return self._from(np.maximum(values, np.asarray(floor)[..., None]), self.linear)

    def minimiser(self) -> Array:
        """The minimiser of smallest norm, which is -½ M⁺c; a stationary point where M has negative eigenvalues: (…, D)."""
        values, vectors = self.spectrum
        kept = np.abs(values) > self.negligible
        inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
        along = _times(np.swapaxes(vectors, -1, -2), self.linear)
        return -0.5 * _times(vectors, inverse * along)

    def _from(self, values: Array, linear: Array) -> Quadratic:
        _, vectors = self.spectrum
        matrix = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return Quadratic(matrix, linear, (values, vectors))

    def _within(self, kept: Array) -> Array:
        """The linear term's part in the kept directions."""
        _, vectors = self.spectrum
        return _times(vectors, kept * _times(np.swapaxes(vectors, -1, -2), self.linear))


def _times(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
