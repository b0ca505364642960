"""Standard errors from information matrices such as X'X, for the models that have them."""

import numpy as np

SINGULAR = 2.0**-30
"""A matrix with a unit diagonal is called singular if its eigenvalues differ by more than this factor.

Columns are truncated to multiples of 2^-16, so a smaller eigenvalue may be nothing but that.
"""


def inverse_roots(information: np.ndarray) -> np.ndarray:
    """Return the roots of the diagonal of each matrix's inverse: (runs, D); NaN where a matrix cannot be inverted."""
    diagonal = np.einsum("rii->ri", information)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))  # the units of the columns must not decide what is singular
    values, vectors = np.linalg.eigh(information / (scale[:, :, None] * scale[:, None, :]))
    invertible = values[:, :1] > SINGULAR * values[:, -1:]
    with np.errstate(divide="ignore"):
        inverse = np.where(invertible, 1 / np.where(invertible, values, 1.0), np.nan)
    return np.asarray(np.sqrt(np.einsum("rij,rj->ri", np.square(vectors), inverse)) / scale)
